package policy

import "github.com/headgate/headgate/internal/format"

// node is a value of the file after aliases and merge keys are replaced by what they
// stand for. An alias shares the node of its anchor, so an error in it shows the place
// where the value is written.
type node struct {
	kind  nodeKind
	at    place
	text  string  // of a scalar
	pairs []pair  // of a mapping, in the order of the file
	items []*node // of a list
	size  int     // nodes below and with this one, those of aliases counted each time
}

type pair struct {
	key   string
	at    place // of the key
	value *node
}

// place is a line and a column, both from 1. The zero place is not known.
type place struct{ line, column int }

type nodeKind uint8

const (
	nullNode nodeKind = iota
	textNode
	wholeNode   // digits, perhaps with a minus
	decimalNode // any other number
	truthNode
	mappingNode
	listNode
	brokenNode // its error was reported
)

// String names the kind in error messages.
func (k nodeKind) String() string {
	return [...]string{"empty", "a text", "a number", "a number", "true or false", "a group of fields", "a list", "broken"}[k]
}

// scalar reports whether the node is one word of text, whatever its type.
func (n *node) scalar() bool { return n.kind >= textNode && n.kind <= truthNode }

// value returns the value of a key, or nil.
func (n *node) value(key string) *node {
	for i := range n.pairs {
		if n.pairs[i].key == key {
			return n.pairs[i].value
		}
	}
	return nil
}

// shown describes the node's value for an error message.
func (n *node) shown() string {
	switch {
	case n.kind == textNode:
		return format.Quote(n.text)
	case n.scalar():
		return n.text[:min(len(n.text), 128)]
	default:
		return n.kind.String()
	}
}
