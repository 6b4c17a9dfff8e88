package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/internal/format"
)

// decoder puts the values of a file into structs by their yaml tags. It reports every
// unknown field, field that stands twice and value of a wrong type, and reads the rest.
type decoder struct {
	report func(at place, err error)
	pause  pauser
}

// nodeReader is a type with more than one form in a file.
type nodeReader interface {
	readNode(d *decoder, n *node, path []string) (ok bool)
}

// breakable is a struct that remembers that one of its fields had an error. The rest of
// it is then not checked: a field that could not be read would be missed.
type breakable interface{ markBroken() }

// placed is a struct that remembers its line in the file.
type placed interface{ setLine(line int) }

// What values of a type accept, for error messages.
const (
	textAccepted   = "a text"
	numberAccepted = "a whole number: digits alone, without quotes, point or exponent"
	truthAccepted  = "true or false, without quotes"
	listAccepted   = "a list"
	fieldsAccepted = "a group of fields"
)

// mismatch reports a value of a wrong type.
func (d *decoder) mismatch(n *node, path []string, accepted string) bool {
	if n.kind != brokenNode {
		d.report(n.at, atPath(path, lastName(path)+" is "+n.shown()+"; accepted: "+accepted))
	}
	return false
}

// lastName returns the name of the field at the end of the path, or item for an item of a
// list.
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

func atPath(path []string, message string) error {
	return atField(fmt.Errorf("%s", message), path...)
}

// decode sets v, and returns false if it reported an error. A field without a value stays
// unset.
func (d *decoder) decode(n *node, v reflect.Value, path []string) bool {
	if n.kind == nullNode {
		return true
	}
	if reader, ok := reflect.TypeAssert[nodeReader](v.Addr()); ok {
		return reader.readNode(d, n, path)
	}
	switch v.Kind() {
	case reflect.Pointer:
		to := reflect.New(v.Type().Elem())
		ok := d.decode(n, to.Elem(), path)
		if ok || to.Elem().Kind() == reflect.Struct { // a value of a wrong type is none
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

func (d *decoder) decodeScalar(n *node, v reflect.Value, path []string) bool {
	switch v.Kind() {
	case reflect.Bool:
		if n.kind != truthNode {
			return d.mismatch(n, path, truthAccepted)
		}
		v.SetBool(strings.EqualFold(n.text, "true"))
	case reflect.Int64:
		if n.kind != wholeNode || strings.HasPrefix(n.text, "+") {
			return d.mismatch(n, path, numberAccepted)
		}
		number, err := strconv.ParseInt(n.text, 10, 64)
		if err != nil {
			return d.mismatch(n, path, numberAccepted+", at most 9223372036854775807")
		}
		v.SetInt(number)
	default:
		if !n.scalar() {
			return d.mismatch(n, path, textAccepted)
		}
		v.SetString(n.text)
	}
	return true
}

// once reports a field that stands twice in one mapping.
func (d *decoder) once(n *node, path []string) (pairs []pair, ok bool) {
	lines := make(map[string]int, len(n.pairs))
	pairs, ok = make([]pair, 0, len(n.pairs)), true
	for _, p := range n.pairs {
		if line, twice := lines[p.key]; twice {
			d.report(p.at, atPath(path, format.Quote(p.key)+" stands on line "+strconv.Itoa(line)+" already; accepted: each name once"))
			ok = false
			continue
		}
		lines[p.key] = p.at.line
		pairs = append(pairs, p)
	}
	return pairs, ok
}

func (d *decoder) decodeStruct(n *node, v reflect.Value, path []string) bool {
	b, can := reflect.TypeAssert[breakable](v.Addr())
	if n.kind != mappingNode {
		if can {
			b.markBroken()
		}
		return d.mismatch(n, path, fieldsAccepted+didYouMeanField(n, v.Type()))
	}
	if p, ok := reflect.TypeAssert[placed](v.Addr()); ok && n.at.line > 0 {
		p.setLine(n.at.line)
	}
	d.pause.pause()
	fields := fieldsOf(v.Type())
	pairs, ok := d.once(n, path)
	for _, p := range pairs {
		if len(path) == 0 && strings.HasPrefix(p.key, "x-") {
			continue // a place for anchors
		}
		index, known := fields.index[p.key]
		if !known {
			d.unknown(p, fields.names, path)
			ok = false
			continue
		}
		ok = d.decode(p.value, v.FieldByIndex(index), append(slices.Clip(path), p.key)) && ok
	}
	if can && !ok {
		b.markBroken()
	}
	return ok
}

// didYouMeanField is a hint for a field that stands alone, without a value.
func didYouMeanField(n *node, t reflect.Type) string {
	if n.kind != textNode || len(fieldsOf(t).index[n.text]) == 0 {
		return ""
	}
	return "; did you mean {" + n.text + ": …}?"
}

// unknown reports a field that the struct does not have.
func (d *decoder) unknown(p pair, names []string, path []string) {
	hint := didYouMean(p.key, names)
	if len(path) == 0 && (p.key == "domain" || p.key == "descriptors") {
		hint = "; this is a field of envoyproxy/ratelimit, whose files are read by headgate check and by serve --envoy-config"
	}
	d.report(p.at, atPath(path, "unknown field "+format.Quote(p.key)+"; accepted: "+strings.Join(names, ", ")+hint))
}

func (d *decoder) decodeMap(n *node, v reflect.Value, path []string) bool {
	if n.kind != mappingNode {
		return d.mismatch(n, path, fieldsAccepted)
	}
	pairs, ok := d.once(n, path)
	v.Set(reflect.MakeMapWithSize(v.Type(), len(pairs)))
	for _, p := range pairs {
		value := reflect.New(v.Type().Elem()).Elem()
		ok = d.decode(p.value, value, append(slices.Clip(path), p.key)) && ok
		v.SetMapIndex(reflect.ValueOf(p.key), value)
	}
	return ok
}

func (d *decoder) decodeList(n *node, v reflect.Value, path []string) bool {
	if n.kind != listNode {
		return d.mismatch(n, path, listAccepted)
	}
	ok := true
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		ok = d.decode(item, v.Index(i), append(slices.Clip(path), strconv.Itoa(i))) && ok
	}
	return ok
}
