package accesslog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/headgate/headgate/engine"
)

// jsonLines reads lines of JSON, each in one pass. A field inside others is named with dots: {"a":{"b":1}} has a.b, as
// has {"a.b":1}.
type jsonLines struct {
	setter

	columns []column
	// places are the columns by the folded names that their fields can have.
	places map[string][]place
	// anyHeader is true if the lines contain all headers of their requests, in allHeaders. Otherwise heads are the
	// headers that the first lines have under the names of nginx or Traefik.
	anyHeader bool
	heads     map[string]bool
}

// place is a column that a field can have the value of, and the rank of the field's name in it.
type place struct{ column, rank int }

// allHeaders is the object with all headers of a request in the logs of Caddy, Kong and APISIX.
const allHeaders = "request.headers"

// headerPrefixes are before the names of headers in the logs of nginx and Traefik.
var headerPrefixes = []string{"http_", "request_"}

const (
	// maxDepth bounds how deep fields are nested that are read, because reading a line takes the time of its length
	// for each level.
	maxDepth = 16
	// mostNames is the number of fields that an error lists.
	mostNames = 40
)

// newJSON returns a reader for lines that are similar to the first ones. It looks for each field under all names that
// logs use for it.
func newJSON(first []string) (*jsonLines, error) {
	j := &jsonLines{places: map[string][]place{}, heads: map[string]bool{}}
	for _, known := range columnParts {
		v := variable{part: known.part}
		if header, ok := strings.CutPrefix(known.name, "header."); ok {
			v.name = header
		}
		j.columns = append(j.columns, column{variable: v, field: known.name, names: known.also})
	}
	slices.SortStableFunc(j.columns, func(a, b column) int { return int(a.part) - int(b.part) })
	for i := range j.columns {
		c := &j.columns[i]
		c.agent = c.part == partHeader && c.name == "User-Agent"
		j.lookFor(i)
	}
	return j, j.learn(first)
}

// learn finds out which columns the first lines have. It returns an error if they have no time or no path, because no line
// would then be a request. Other fields may first occur later.
func (j *jsonLines) learn(first []string) error {
	folded := map[string]string{}
	for _, line := range first {
		if !isObject(line) {
			continue
		}
		walk(gjson.Parse(line), nil, maxDepth, func(name []byte, v gjson.Result) {
			if text := string(name); v.IsObject() {
				j.anyHeader = j.anyHeader || text == allHeaders
			} else {
				folded[fold(text)] = cmp.Or(folded[fold(text)], text)
				for _, prefix := range headerPrefixes {
					if header, ok := strings.CutPrefix(fold(text), prefix); ok {
						j.heads[canonical(strings.ReplaceAll(header, "_", "-"))] = true
					}
				}
			}
		})
	}
	for i := range j.columns {
		c := &j.columns[i]
		if c.rank = slices.IndexFunc(c.names, func(name string) bool { return folded[fold(name)] != "" }); c.rank >= 0 {
			c.from = folded[fold(c.names[c.rank])]
		}
	}
	var missing part
	switch {
	case !j.has(partTime):
		missing = partTime
	case !j.has(partTarget) && !j.has(partRequest) && !j.has(partPath):
		missing = partTarget
	default:
		return nil
	}
	c := &j.columns[j.index(missing, "")]
	return fmt.Errorf("no field has the %s; accepted: one of %s; rename it, as with jq; the first lines have %s", c.field, strings.Join(c.names, ", "), listed(slices.Sorted(maps.Values(folded))))
}

// listed joins the first of the names.
func listed(names []string) string {
	text := strings.Join(names[:min(len(names), mostNames)], ", ")
	if more := len(names) - mostNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return cmp.Or(text, "none")
}

// lookFor adds the names of the column with index i to those that are read.
func (j *jsonLines) lookFor(i int) {
	for rank, name := range j.columns[i].names {
		j.places[fold(name)] = append(j.places[fold(name)], place{i, rank})
	}
}

// walk calls the function each for every field in an object or an array, whose elements have their index as name. The
// function must not keep the name. The names begin with prefix, and depth is the number of levels to read.
func walk(from gjson.Result, prefix []byte, depth int, each func(name []byte, v gjson.Result)) {
	name, index := prefix, int64(0)
	from.ForEach(func(key, v gjson.Result) bool {
		if name = append(name[:len(prefix)], key.Str...); from.IsArray() {
			name = strconv.AppendInt(name, index, 10)
			index++
		}
		each(name, v)
		if depth > 1 && (v.IsObject() || v.IsArray()) {
			walk(v, append(name, '.'), depth-1, each)
		}
		return true
	})
}

// fold returns the form of a name in which case does not matter, and a dash is the same as an underscore.
func fold(name string) string { return string(foldInto(nil, []byte(name))) }

func foldInto(to, name []byte) []byte {
	for _, c := range name {
		switch {
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		case c == '-':
			c = '_'
		}
		to = append(to, c)
	}
	return to
}

// isObject reports whether a line is a JSON object.
func isObject(line string) bool { return strings.HasPrefix(line, "{") && gjson.Valid(line) }

// read reads one line.
func (j *jsonLines) read(line string, q *Request) error {
	if !isObject(line) {
		return engine.InvalidInput("line", engine.Quote(line), "an object of JSON")
	}
	for i := range j.columns {
		j.columns[i].rank = -1
	}
	var memory [128]byte
	walk(gjson.Parse(line), nil, maxDepth, func(name []byte, v gjson.Result) {
		if v.IsObject() {
			return
		}
		for _, at := range j.places[string(foldInto(memory[:0], name))] {
			if c := &j.columns[at.column]; c.spelled(string(name)) {
				c.found(at.rank, v)
			}
		}
	})
	for i := range j.columns {
		c := &j.columns[i]
		if c.rank < 0 || !c.needed() || j.spare(c) {
			continue
		}
		if c.wanted && c.text == "REDACTED" {
			return errRedacted
		}
		if err := j.set(&c.variable, c.text, q); err != nil {
			return err
		}
	}
	if !j.has(partTime) {
		return engine.InvalidInput("time", engine.Quote(""), stampAccepted)
	}
	return q.check()
}

// errRedacted is the error for a header that Caddy redacts.
var errRedacted = errors.New("the header is REDACTED; accepted: logs of Caddy with log_credentials in the global option servers")

// scalar returns the text of a value. The texts of an array, such as the lines of one header, are joined by commas.
func scalar(v gjson.Result) string {
	switch {
	case v.Type == gjson.String:
		return v.Str
	case v.IsArray():
		var texts []string
		v.ForEach(func(_, element gjson.Result) bool {
			texts = append(texts, element.String())
			return true
		})
		return strings.Join(texts, ", ")
	default:
		return v.Raw
	}
}

// has reports whether the line has a part.
func (j *jsonLines) has(p part) bool { return j.columns[j.index(p, "")].rank >= 0 }

func (j *jsonLines) index(p part, name string) int {
	return slices.IndexFunc(j.columns, func(c column) bool { return c.part == p && c.name == name })
}

// spare reports whether the column's value is not used, because the line has the same part in a field that says more:
// the server's path and query can be rewritten, while the request line and the target are the client's.
func (j *jsonLines) spare(c *column) bool {
	target := &j.columns[j.index(partTarget, "")]
	switch c.part {
	case partTarget:
		return j.has(partRequest)
	case partPath:
		return j.has(partRequest) || target.rank >= 0
	case partQuery:
		return j.has(partRequest) || target.rank >= 0 && target.rank < len(wholeTargets)
	default:
		return false
	}
}

// fields returns all fields that the lines can have, because a field may first occur after the first lines, or those that
// they had.
func (j *jsonLines) fields(read bool) Fields {
	f := Fields{anyHeader: j.anyHeader, {Head, forwardedFor}: j.forwarded}
	for i := range j.columns {
		if c := &j.columns[i]; c.seen || !read {
			f.add(&c.variable)
		}
	}
	for name := range j.heads {
		f[Field{Head, name}] = f[Field{Head, name}] || !read
	}
	return f
}

// want marks the columns of the given headers and cookies as wanted, and adds columns for the headers without one.
func (j *jsonLines) want(headers, cookies map[string]bool) {
	for i := range j.columns {
		j.columns[i].want(headers, cookies)
	}
	for _, name := range names(headers) {
		if j.index(partHeader, name) < 0 && name != "Host" {
			c := column{variable: variable{part: partHeader, name: name, wanted: true}, names: []string{allHeaders + "." + name}, header: true}
			for _, prefix := range headerPrefixes {
				c.names = append(c.names, prefix+name)
			}
			j.columns = append(j.columns, c)
			j.lookFor(len(j.columns) - 1)
		}
	}
}

// String lists the columns that the first lines have. It must be called before a line is read.
func (j *jsonLines) String() string {
	var texts []string
	for i := range j.columns {
		c := &j.columns[i]
		if c.from == "" || j.spare(c) {
			continue
		}
		texts = append(texts, fmt.Sprintf("%s=%s", c.field, c.from))
	}
	return strings.Join(texts, " ")
}
