package yamlfile

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
)

// Decoder decodes a file's values into structs by their yaml tags. It reports every unknown field, duplicate field and
// value of the wrong type, and decodes the rest.
type Decoder struct {
	// Report is called for each error. The message begins with the path of the field.
	Report func(at Place, message string)
	// Pause is called before each struct is decoded.
	Pause Pauser
	// Hints maps the names of unknown top-level fields to hints that are added to their errors.
	Hints map[string]string
}

// nodeReader is implemented by types that have several forms in a file.
type nodeReader interface {
	ReadNode(d *Decoder, n *Node, path []string) (ok bool)
}

// breakable is implemented by structs that record an error in any of their fields. Other checks of such a struct are
// then skipped, because they would report the unreadable field as missing.
type breakable interface{ MarkBroken() }

// lineSetter is implemented by structs that record their line in the file.
type lineSetter interface{ SetLine(line int) }

// Table is implemented by a type whose fields are listed in a table instead of a struct. A struct that contains them has
// a field of the type with the tag `yaml:",table"`.
type Table interface {
	// Names returns the names of all fields, in their order, and Type the type of a field's value. They are called on a
	// zero Table.
	Names() []string
	Type(name string) reflect.Type
	// Set sets a field to its value in the file.
	Set(name string, value reflect.Value)
}

// These constants describe the accepted values of each type, for error messages.
const (
	textAccepted   = "a text"
	numberAccepted = "a whole number: digits alone, without quotes, point or exponent"
	truthAccepted  = "true or false, without quotes"
	listAccepted   = "a list"
	fieldsAccepted = "a group of fields"
)

// listLike describes a list of values of type t, with an example: the text of n as an item, or an item with the first
// field of t.
func listLike(n *Node, t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Kind == Text:
		return listAccepted + " such as [" + n.shown() + "]"
	case t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[nodeReader]()):
		return listAccepted + " such as [{" + fieldsOf(t).first + ": …}]"
	default:
		return listAccepted
	}
}

// fieldsLike describes a group of fields, with one field as an example.
func fieldsLike(name string) string { return fieldsAccepted + " such as {" + name + ": …}" }

// Mismatch reports a value of the wrong type, unless an error in the value was already reported. It returns false.
//
// A field without a value has the wrong type: what a template makes of a value that it does not find must not mean the
// default, because without users_file everybody may call (regression: bug 279).
func (d *Decoder) Mismatch(n *Node, path []string, accepted string) bool {
	if n.Kind == Null || n.Kind == Text && n.Text == "" {
		accepted += ", or no " + lastName(path)
	}
	if n.Kind != broken {
		d.report(n.At, path, lastName(path)+" is "+n.shown()+"; accepted: "+accepted)
	}
	return false
}

// truths are words for true and false in YAML 1.1 and in other files.
var truths = map[string]string{"yes": "true", "y": "true", "on": "true", "1": "true", "no": "false", "n": "false", "off": "false", "0": "false", "true": "true", "false": "false"}

// IsTruth reports whether a node is a word for true or false that YAML 1.2 does not read as such.
func IsTruth(n *Node) bool { return n.Kind == Text && truths[strings.ToLower(n.Text)] != "" }

// NotTruth is [Decoder.Mismatch] for a node that should be true or false. It suggests one of them for yes, no, on and
// off.
func (d *Decoder) NotTruth(n *Node, path []string, accepted string) bool {
	if word := truths[strings.ToLower(n.Text)]; n.Scalar() && word != "" {
		d.report(n.At, path, lastName(path)+" is "+n.shown()+"; did you mean "+word+"? accepted: "+accepted)
		return false
	}
	return d.Mismatch(n, path, accepted)
}

func (d *Decoder) report(at Place, path []string, message string) {
	if len(path) > 0 {
		message = strings.Join(path, ".") + ": " + message
	}
	d.Report(at, message)
}

// lastName returns the name of the field at the end of the path, "item" for an item of a list, or "the file" if the
// path is empty.
func lastName(path []string) string {
	if len(path) == 0 {
		return "the file"
	}
	last := path[len(path)-1]
	if _, err := strconv.Atoi(last); err == nil {
		return "item"
	}
	return last
}

// Decode stores the node's value in *to. It returns false if it reported an error. A field of type *Node is set to the
// node itself. An empty file leaves *to as it is.
func (d *Decoder) Decode(n *Node, to any, path ...string) bool {
	return d.decode(n, reflect.ValueOf(to).Elem(), path)
}

func (d *Decoder) decode(n *Node, v reflect.Value, path []string) bool {
	if v.Type() == reflect.TypeFor[*Node]() {
		v.Set(reflect.ValueOf(n))
		return n.Kind != broken
	}
	if n.Kind == Null && len(path) == 0 {
		return true
	}
	if reader, ok := reflect.TypeAssert[nodeReader](v.Addr()); ok {
		return reader.ReadNode(d, n, path)
	}
	switch v.Kind() {
	case reflect.Pointer:
		to := reflect.New(v.Type().Elem())
		ok := d.decode(n, to.Elem(), path)
		if ok || to.Elem().Kind() == reflect.Struct { // a value of the wrong type is omitted
			v.Set(to)
		}
		return ok
	case reflect.Struct:
		return d.decodeStruct(n, v, path)
	case reflect.Map:
		return d.decodeMap(n, v, path)
	case reflect.Slice:
		return d.decodeList(n, v, path)
	default:
		return d.decodeScalar(n, v, path)
	}
}

func (d *Decoder) decodeScalar(n *Node, v reflect.Value, path []string) bool {
	switch v.Kind() {
	case reflect.Bool:
		if n.Kind != Truth {
			return d.NotTruth(n, path, truthAccepted)
		}
		v.SetBool(strings.EqualFold(n.Text, "true"))
	case reflect.Int64:
		if !n.Whole() || strings.HasPrefix(n.Text, "+") {
			return d.Mismatch(n, path, numberAccepted)
		}
		number, err := strconv.ParseInt(n.Text, 10, 64)
		if err != nil {
			return d.Mismatch(n, path, numberAccepted+", at most 9223372036854775807")
		}
		v.SetInt(number)
	default:
		if !n.Scalar() {
			return d.Mismatch(n, path, textAccepted)
		}
		v.SetString(n.Text)
	}
	return true
}

// once reports fields that appear twice in one mapping, and returns each field once.
func (d *Decoder) once(n *Node, path []string) (pairs []Pair, ok bool) {
	lines := make(map[string]int, len(n.Pairs))
	pairs, ok = make([]Pair, 0, len(n.Pairs)), true
	for _, p := range n.Pairs {
		if line, twice := lines[p.Key.Text]; twice {
			d.report(p.Key.At, path, engine.Quote(p.Key.Text)+" is on line "+strconv.Itoa(line)+" already; accepted: each name once")
			ok = false
			continue
		}
		lines[p.Key.Text] = p.Key.At.Line
		pairs = append(pairs, p)
	}
	return pairs, ok
}

func (d *Decoder) decodeStruct(n *Node, v reflect.Value, path []string) bool {
	b, can := reflect.TypeAssert[breakable](v.Addr())
	if n.Kind != Mapping {
		if can {
			b.MarkBroken()
		}
		return d.Mismatch(n, path, fieldsLike(fieldsOf(v.Type()).first)+DidYouMeanField(n, v.Type()))
	}
	if p, ok := reflect.TypeAssert[lineSetter](v.Addr()); ok && n.At.Line > 0 {
		p.SetLine(n.At.Line)
	}
	d.Pause.Pause()
	fields := fieldsOf(v.Type())
	pairs, ok := d.once(n, path)
	for _, p := range pairs {
		if len(path) == 0 && strings.HasPrefix(p.Key.Text, "x-") {
			continue // the field only defines anchors
		}
		index, known := fields.index[p.Key.Text]
		if !known {
			d.unknown(p.Key, fields.names, path)
			ok = false
			continue
		}
		ok = d.decodeField(p, v.FieldByIndex(index), append(slices.Clip(path), p.Key.Text)) && ok
	}
	if can && !ok {
		b.MarkBroken()
	}
	return ok
}

// decodeField decodes a field of a struct into v, or into the table in v. A table omits values of the wrong type, but has
// structs and lists with an error inside.
func (d *Decoder) decodeField(p Pair, v reflect.Value, path []string) bool {
	table, listed := reflect.TypeAssert[Table](v.Addr())
	if !listed {
		return d.decode(p.Value, v, path)
	}
	value := reflect.New(table.Type(p.Key.Text)).Elem()
	ok := d.decode(p.Value, value, path)
	if ok || value.Kind() == reflect.Struct || value.Kind() == reflect.Slice && !value.IsNil() {
		table.Set(p.Key.Text, value)
	}
	return ok
}

// DidYouMeanField returns a hint if the node is text that equals the name of a field of t. The author of the file
// probably wrote the field without a value.
func DidYouMeanField(n *Node, t reflect.Type) string {
	if n.Kind != Text || len(fieldsOf(t).index[n.Text]) == 0 {
		return ""
	}
	return "; did you mean {" + n.Text + ": …}?"
}

// unknown reports a field that the struct does not have.
func (d *Decoder) unknown(key *Node, names, path []string) {
	hint := DidYouMean(key.Text, names)
	if len(path) == 0 && d.Hints[key.Text] != "" {
		hint = d.Hints[key.Text] + "; "
	}
	d.report(key.At, path, "unknown field "+engine.Quote(key.Text)+"; "+hint+"accepted: "+strings.Join(names, ", "))
}

func (d *Decoder) decodeMap(n *Node, v reflect.Value, path []string) bool {
	if n.Kind != Mapping {
		return d.Mismatch(n, path, fieldsLike("NAME"))
	}
	pairs, ok := d.once(n, path)
	v.Set(reflect.MakeMapWithSize(v.Type(), len(pairs)))
	for _, p := range pairs {
		value := reflect.New(v.Type().Elem()).Elem()
		ok = d.decode(p.Value, value, append(slices.Clip(path), p.Key.Text)) && ok
		v.SetMapIndex(reflect.ValueOf(p.Key.Text), value)
	}
	return ok
}

func (d *Decoder) decodeList(n *Node, v reflect.Value, path []string) bool {
	if n.Kind != List {
		return d.Mismatch(n, path, listLike(n, v.Type().Elem()))
	}
	ok := true
	v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
	for i, item := range n.Items {
		ok = d.decode(item, v.Index(i), append(slices.Clip(path), strconv.Itoa(i))) && ok
	}
	return ok
}
