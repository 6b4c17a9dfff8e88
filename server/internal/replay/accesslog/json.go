package accesslog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/headgate/headgate/engine"
)

// jsonLines reads lines of JSON. A name with dots refers to a nested field. If there is no such field, it refers to
// one field whose name contains dots.
type jsonLines struct{ columns }

// newJSON returns a reader for lines that are similar to the first ones.
func newJSON(named []column, first []string) (*jsonLines, error) {
	j := &jsonLines{}
	has := func(name string) bool {
		path, flat := escaped(name)
		for _, line := range first {
			if !gjson.Valid(line) {
				continue
			}
			if v := lookUp(line, path, flat); v.Exists() && !v.IsObject() && !v.IsArray() {
				return true
			}
		}
		return false
	}
	if err := checkNamed(named, has); err != nil {
		return nil, err
	}
	err := j.choose(named, has)
	for i := range j.all {
		j.all[i].path, j.all[i].flat = escaped(j.all[i].from)
	}
	for _, line := range first {
		if gjson.Get(line, "request.headers").IsObject() {
			j.any = caddyHeader
		}
	}
	return j, err
}

// isObject reports whether a line is a JSON object.
func isObject(line string) bool { return strings.HasPrefix(line, "{") && gjson.Valid(line) }

// checkNamed returns an error if --field names a time or path field that is in none of the first lines, because no line
// would then be a request. Other fields may first occur later.
func checkNamed(named []column, has func(name string) bool) error {
	for i := range named {
		switch c := &named[i]; c.part {
		case partTime, partRequest, partTarget, partPath:
			if !has(c.from) {
				return fmt.Errorf("--field: no field %s in the first lines; accepted: a field with a text or a number, those inside fields with dots, such as request.uri", engine.Quote(c.from))
			}
		}
	}
	return nil
}

// unseen returns the field that --field names for a need. none is true if the field was in no line.
func (j *jsonLines) unseen(n *Need) (from string, none bool) {
	for i := range j.all {
		if c := &j.all[i]; c.named && c.serves(n) {
			return c.from, !c.seen
		}
	}
	return "", false
}

// serves reports whether the column contains the field that n describes.
func (c *column) serves(n *Need) bool {
	t := template{variables: []variable{c.variable}}
	f := t.fields()
	return f.has(n)
}

// escaped returns a name in the path syntax of package gjson, both as nested fields and as one field.
func escaped(name string) (path, flat string) {
	var b strings.Builder
	for i := range len(name) {
		if strings.IndexByte(`*?|#@!{}[]()=<>%\`, name[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(name[i])
	}
	return b.String(), strings.ReplaceAll(b.String(), ".", `\.`)
}

func lookUp(line, path, flat string) gjson.Result {
	v := gjson.Get(line, path)
	if !v.Exists() && path != flat {
		v = gjson.Get(line, flat)
	}
	return v
}

// caddyHeader returns the first value of a header in Caddy's log.
func caddyHeader(line, name string) string {
	path, _ := escaped(strings.ReplaceAll(name, ".", `\.`))
	return gjson.Get(line, "request.headers."+path+".0").String()
}

// errRedacted is the error for a header that Caddy redacts.
var errRedacted = errors.New("the header is REDACTED; accepted: logs of Caddy with log_credentials in the global option servers")

func (j *jsonLines) read(line string, q *Request) error {
	if !isObject(line) {
		return engine.InvalidInput("line", engine.Quote(line), "an object of JSON")
	}
	hasTime := false
	for i := range j.all {
		c := &j.all[i]
		if !c.needed() {
			continue
		}
		value := lookUp(line, c.path, c.flat)
		c.seen = c.seen || value.Exists()
		if value.Type == gjson.Null {
			continue
		}
		text := value.Str
		if value.Type != gjson.String {
			text = value.Raw
		}
		if err := j.set(&c.variable, text, q); err != nil {
			return err
		}
		hasTime = hasTime || c.part == partTime
	}
	for _, name := range j.others {
		switch value := j.any(line, name); value {
		case "":
		case "REDACTED":
			return errRedacted
		default:
			q.Headers = append(q.Headers, Header{name, value})
		}
	}
	return complete(q, hasTime)
}
