package yamlfile

import (
	"regexp"
	"strconv"

	"github.com/headgate/headgate/engine"
)

// Node is a value of the file, with aliases and merge keys resolved. An alias shares its anchor's node, so an error in
// the value is reported where the value is written.
type Node struct {
	Kind  Kind
	At    Place
	Text  string  // of a scalar, as written
	Plain bool    // the scalar has no quotes and no tag
	Pairs []Pair  // of a mapping, in file order; a name can appear twice
	Items []*Node // of a list

	size   int // number of nodes in this subtree; each alias counts
	height int // levels of lists and mappings in this subtree
}

// Pair is a field of a mapping.
type Pair struct{ Key, Value *Node }

// Place is a line and a column, both counted from 1. The zero Place means that the position is unknown.
type Place struct{ Line, Column int }

// Kind is the type of a value, as in YAML 1.2.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Text
	Integer // decimal, 0x… or 0o…
	Float   // any other number, and integers that do not fit in 64 bits
	Truth
	Mapping
	List
	broken // the error was already reported
)

// String names the kind in error messages.
func (k Kind) String() string {
	return [...]string{"empty", "a text", "a number", "a number", "true or false", "a group of fields", "a list", "broken"}[k]
}

// Scalar reports whether the node is a scalar of any type.
func (n *Node) Scalar() bool { return n.Kind >= Text && n.Kind <= Truth }

var digits = regexp.MustCompile(`^[-+]?[0-9]+$`)

// Whole reports whether the node is a number that consists only of digits.
func (n *Node) Whole() bool {
	return (n.Kind == Integer || n.Kind == Float) && digits.MatchString(n.Text)
}

// Value returns the value of a key, or nil. If the key appears twice, it returns the first value.
func (n *Node) Value(key string) *Node {
	for i := range n.Pairs {
		if n.Pairs[i].Key.Text == key {
			return n.Pairs[i].Value
		}
	}
	return nil
}

// Find follows a path of keys and indexes as far as possible, and returns the place of the last node that it finds.
func (n *Node) Find(path ...string) Place {
	last := n.At
	for _, step := range path {
		if n = n.child(step); n == nil {
			break
		}
		if n.At.Line > 0 {
			last = n.At
		}
	}
	return last
}

// child returns a mapping's value for a key, or a list's item at an index. It returns nil if no such value exists.
func (n *Node) child(step string) *Node {
	if n.Kind == List {
		if i, err := strconv.Atoi(step); err == nil && i < len(n.Items) {
			return n.Items[i]
		}
		return nil
	}
	return n.Value(step)
}

// shown describes the node's value for an error message.
func (n *Node) shown() string {
	switch {
	case n.Kind == Text:
		return engine.Quote(n.Text)
	case n.Scalar():
		return engine.Cut(n.Text)
	default:
		return n.Kind.String()
	}
}
