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

// jsonLines reads lines of JSON, each in one pass.
type jsonLines struct {
	columns

	root    *node
	first   map[string]string // the names in the first lines, by their folded form
	headers []Header          // of the line: those that the replay needs and that have no column
	failed  error
}

// node is a field of JSON that is, or contains, the value of a column.
type node struct {
	// fields are the fields inside, by their folded names.
	fields map[string]*node
	slots  []slot
	// headers is true for the object with all headers of the request.
	headers bool
}

// slot is a column that a field can have the value of.
type slot struct {
	column, rank int
	// exact is the name as --field spells it, or "" if case and dashes do not matter.
	exact string
}

// allHeaders is the object with all headers of a request in the logs of Caddy, Kong and APISIX.
const allHeaders = "request.headers"

// newJSON returns a reader for lines that are similar to the first ones.
func newJSON(named []column, first []string) (*jsonLines, error) {
	j := &jsonLines{root: &node{}}
	if err := j.chooseIn(named, first); err != nil {
		return nil, err
	}
	for i := range j.all {
		c := &j.all[i]
		for rank, name := range c.names {
			exact := ""
			if c.named {
				exact = name
			}
			j.root.add(name, slot{column: i, rank: rank, exact: exact})
		}
	}
	j.root.at(allHeaders).headers = true
	return j, nil
}

func (j *jsonLines) chooseIn(named []column, first []string) error {
	j.first = map[string]string{}
	exact := map[string]bool{}
	for _, line := range first {
		if isObject(line) {
			namesIn(gjson.Parse(line), "", func(name string, scalar bool) {
				if scalar {
					j.first[fold(name)] = cmp.Or(j.first[fold(name)], name)
					exact[name] = true
				}
				j.anyHeader = j.anyHeader || name == allHeaders && !scalar
			})
		}
	}
	if err := checkNamed(named, func(name string) bool { return exact[name] }); err != nil {
		return err
	}
	if err := j.choose(named, j.firstName); err != nil {
		return fmt.Errorf("%w; the first lines have %s", err, j.firstNames())
	}
	return nil
}

// mostNames is the number of fields that an error lists.
const mostNames = 40

func (j *jsonLines) firstNames() string {
	all := slices.Sorted(maps.Values(j.first))
	text := strings.Join(all[:min(len(all), mostNames)], ", ")
	if more := len(all) - mostNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return cmp.Or(text, "none")
}

func (j *jsonLines) firstName(name string) string { return j.first[fold(name)] }

// namesIn calls the function each for every field in an object, with the names of nested fields joined by dots. An array
// counts as the value of its field, and its elements are fields with their index as the name.
func namesIn(object gjson.Result, prefix string, each func(name string, scalar bool)) {
	place := 0
	object.ForEach(func(key, v gjson.Result) bool {
		name := prefix + key.Str
		if object.IsArray() {
			name = prefix + strconv.Itoa(place)
			place++
		}
		each(name, !v.IsObject())
		if v.IsObject() || v.IsArray() {
			namesIn(v, name+".", each)
		}
		return true
	})
}

// at returns the node for a name with dots, and creates it if necessary.
func (n *node) at(name string) *node {
	for field := range strings.SplitSeq(name, ".") {
		n = n.child(fold(field))
	}
	return n
}

func (n *node) child(name string) *node {
	if n.fields == nil {
		n.fields = map[string]*node{}
	}
	if n.fields[name] == nil {
		n.fields[name] = &node{}
	}
	return n.fields[name]
}

// add adds a slot for a name. A name with dots refers to a nested field, or to one field whose name contains dots.
func (n *node) add(name string, s slot) {
	nested, flat := s, n.child(fold(name))
	if at := strings.LastIndexByte(name, '.'); s.exact != "" && at >= 0 {
		nested.exact = name[at+1:]
	}
	if to := n.at(name); to != flat {
		to.slots = append(to.slots, nested)
	}
	flat.slots = append(flat.slots, s)
}

// fold returns the form of a name in which case does not matter, and a dash is the same as an underscore.
func fold(name string) string { return string(foldInto(make([]byte, 0, len(name)), name)) }

func foldInto(to []byte, name string) []byte {
	for i := range len(name) {
		c := name[i]
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

// maxName is the maximum length of a field's name. Longer names are not folded on the stack.
const maxName = 128

// find returns the node for a field, or nil.
func (n *node) find(name string) *node {
	if len(name) > maxName {
		return n.fields[fold(name)]
	}
	var memory [maxName]byte
	return n.fields[string(foldInto(memory[:0], name))]
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

// fields returns all fields that the lines can have, because a field may first occur after the first lines.
func (j *jsonLines) fields() Fields { return j.columnFields(func(*column) bool { return true }) }

// unseen reports whether no line had a field for a need. from is the name of the field, if --field names it.
func (j *jsonLines) unseen(n *Need) (from string, none bool) {
	seen := j.columnFields(func(c *column) bool { return c.seen })
	if seen.has(n) {
		return "", false
	}
	for i := range j.all {
		if c := &j.all[i]; c.named {
			if own := j.columnFields(func(at *column) bool { return at == c }); own.has(n) {
				return c.from, true
			}
		}
	}
	return "", true
}

// errRedacted is the error for a header that Caddy redacts.
var errRedacted = errors.New("the header is REDACTED; accepted: logs of Caddy with log_credentials in the global option servers")

func (j *jsonLines) read(line string, q *Request) error {
	if !isObject(line) {
		return engine.InvalidInput("line", engine.Quote(line), "an object of JSON")
	}
	j.reset()
	j.headers, j.failed = q.Headers, nil
	j.walk(gjson.Parse(line), j.root)
	q.Headers = j.headers
	if j.failed != nil {
		return j.failed
	}
	return j.store(q)
}

// walk reads the fields of an object or the elements of an array.
func (j *jsonLines) walk(object gjson.Result, n *node) {
	place := 0
	object.ForEach(func(key, v gjson.Result) bool {
		name := key.Str
		if object.IsArray() {
			name = strconv.Itoa(place)
			place++
		}
		if child := n.find(name); child != nil {
			j.take(name, v, child)
		}
		return true
	})
}

// take reads one field.
func (j *jsonLines) take(name string, v gjson.Result, n *node) {
	if n.headers && v.IsObject() {
		j.addHeaders(v)
	}
	if n.fields != nil && (v.IsObject() || v.IsArray()) {
		j.walk(v, n)
	}
	if v.IsObject() || len(n.slots) == 0 {
		return
	}
	text := scalar(v)
	for _, s := range n.slots {
		if s.exact != "" && s.exact != name {
			continue
		}
		j.all[s.column].seen = true
		if v.Type != gjson.Null {
			j.found(s.column, s.rank, text)
		}
	}
}

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

// addHeaders adds the headers that the replay needs and that have no column.
func (j *jsonLines) addHeaders(all gjson.Result) {
	if len(j.others) == 0 {
		return
	}
	all.ForEach(func(key, v gjson.Result) bool {
		for _, name := range j.others {
			if !strings.EqualFold(name, key.Str) {
				continue
			}
			switch text := scalar(v); text {
			case "":
			case "REDACTED":
				j.failed = errRedacted
			default:
				j.headers = append(j.headers, Header{name, text})
			}
		}
		return true
	})
}
