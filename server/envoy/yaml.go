package envoy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// node is a value of a YAML file, with anchors and tags resolved. envoyproxy/ratelimit
// reads YAML 1.1: there yes and on are booleans, and the last of two equal keys counts.
type node struct {
	kind  kind
	text  string // of a scalar, as written
	plain bool   // the scalar has no quotes
	pairs []pair
	items []*node
	at    mark
}

type pair struct{ key, value *node }

type kind uint8

const (
	null kind = iota
	text
	integer
	float
	boolean
	mapping
	list
)

var kindNames = [...]string{"null", "text", "a number", "a number", "a boolean", "a mapping", "a list"}

// The bounds of one file. A file beyond them is an error.
const (
	// MaxFileBytes is the size of the largest file.
	MaxFileBytes = 16 << 20
	// maxNodes bounds the values of a file. Aliases count each time they are used, so a
	// short file cannot become a huge one.
	maxNodes = 4_000_000
	// maxNesting bounds how deep values nest.
	maxNesting = 100
)

// parse reads the first document of a file, as yaml.v2 does.
func parse(data []byte) (root *node, documents int, err error) {
	if len(data) > MaxFileBytes {
		return nil, 0, errors.New("file is larger than 16 MiB")
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // a byte order mark, which some editors write
	if err := checkText(data); err != nil {
		return nil, 0, err
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	for err == nil {
		var document yaml.Node
		if err = loader.Load(&document); err != nil || empty(&document) {
			continue
		}
		if documents++; documents == 1 {
			r := reader{anchors: map[*yaml.Node]*node{}}
			if root, err = r.read(document.Content[0], 0); err != nil {
				return nil, 0, err
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, 0, atMark(err)
	}
	if documents == 0 {
		root = &node{}
	}
	return root, documents, nil
}

// empty reports whether a document has no value.
func empty(document *yaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].Tag == "!!null" && document.Content[0].Value == ""
}

// checkText rejects what is not text.
func checkText(data []byte) error {
	if at := bytes.IndexByte(data, 0); at >= 0 {
		return fmt.Errorf("yaml: control characters are not allowed: byte %d is 0", at)
	}
	if !utf8.Valid(data) {
		return errors.New("yaml: invalid UTF-8")
	}
	return nil
}

// atMark adds the position to an error of the YAML library.
func atMark(err error) error {
	if y, ok := errors.AsType[*yaml.LoadError](err); ok {
		return located(errors.New(y.Message), mark{y.Mark.Line, y.Mark.Column})
	}
	return err
}

// mark is a line and a column, both from 1. The zero mark is not known.
type mark struct{ line, column int }

// position is an error with the place that it is about. The words come first: scripts
// compare them.
type position struct {
	err error
	at  mark
}

func (p *position) Error() string {
	return fmt.Sprintf("%s (line %d, column %d)", p.err, p.at.line, p.at.column)
}

func (p *position) Unwrap() error { return p.err }

func located(err error, at mark) error {
	if at.line == 0 {
		return err
	}
	return &position{err: err, at: at}
}

// reader turns the library's tree into nodes.
type reader struct {
	anchors map[*yaml.Node]*node
}

func (r *reader) read(from *yaml.Node, depth int) (n *node, err error) {
	at := mark{from.Line, from.Column}
	if depth > maxNesting {
		return nil, located(errors.New("values nest more than 100 deep"), at)
	}
	switch from.Kind {
	case yaml.AliasNode:
		if n = r.anchors[from.Alias]; n == nil { // inside of the value that it stands for
			return nil, located(fmt.Errorf("anchor '%s' value contains itself", from.Value), at)
		}
		return n, nil
	case yaml.MappingNode:
		n, err = r.mapping(from.Content, at, depth)
	case yaml.SequenceNode:
		n, err = r.list(from.Content, at, depth)
	default:
		n = scalar(from, at)
	}
	if err == nil && from.Anchor != "" {
		r.anchors[from] = n
	}
	return n, err
}

func (r *reader) list(values []*yaml.Node, at mark, depth int) (*node, error) {
	n := &node{kind: list, at: at}
	for _, v := range values {
		item, err := r.read(v, depth+1)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	return n, nil
}

// mapping reads a mapping, whose keys and values take turns.
func (r *reader) mapping(values []*yaml.Node, at mark, depth int) (*node, error) {
	n := &node{kind: mapping, at: at}
	seen := map[identity]int{}
	for ; len(values) > 1; values = values[2:] {
		value, err := r.read(values[1], depth+1)
		if err != nil {
			return nil, err
		}
		if values[0].Tag == "!!merge" {
			if err := n.merge(value, seen); err != nil {
				return nil, located(err, mark{values[0].Line, values[0].Column})
			}
			continue
		}
		key, err := r.read(values[0], depth+1)
		if err != nil {
			return nil, err
		}
		n.set(pair{key, value}, seen)
	}
	return n, nil
}

// identity says when two keys are equal.
type identity struct {
	kind kind
	text string
}

// set adds a pair, or replaces the value of an equal key. seen has the places of the keys.
func (n *node) set(p pair, seen map[identity]int) {
	id := identity{p.key.kind, p.key.text}
	if at, ok := seen[id]; ok {
		n.pairs[at] = p
		return
	}
	seen[id] = len(n.pairs)
	n.pairs = append(n.pairs, p)
}

// merge adds the pairs of a mapping, or of a list of mappings, whose keys are not set.
func (n *node) merge(from *node, seen map[identity]int) error {
	sources := []*node{from}
	if from.kind == list {
		sources = from.items
	}
	for _, s := range sources {
		if s.kind != mapping {
			return errors.New("map merge requires map or sequence of maps as the value")
		}
		for _, p := range s.pairs {
			if _, ok := seen[identity{p.key.kind, p.key.text}]; !ok {
				n.set(p, seen)
			}
		}
	}
	return nil
}

// get returns the value of a key, or nil.
func (n *node) get(key string) *node {
	for i := range n.pairs {
		if n.pairs[i].key.text == key {
			return n.pairs[i].value
		}
	}
	return nil
}

// scalar reads a value that is neither a mapping nor a list.
func scalar(from *yaml.Node, at mark) *node {
	n := &node{kind: text, text: from.Value, at: at, plain: from.Style&^yaml.TaggedStyle == 0}
	switch from.Tag {
	case "!!null":
		n.kind = null
	case "!!int":
		n.kind = integer
	case "!!float":
		n.kind = float
	case "!!bool":
		n.kind = boolean
	case "!!str":
		if _, ok := truth[n.text]; ok && from.Style == 0 {
			n.kind = boolean
		}
	}
	return n
}

// truth has the booleans of YAML 1.1.
var truth = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range []string{"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"} {
		words[w] = true
	}
	for _, w := range []string{"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"} {
		words[w] = false
	}
	return words
}()

// shown returns a value as Go prints it, for error messages, at most 128 bytes.
func (n *node) shown() string {
	switch n.kind {
	case null:
		return "<nil>"
	case boolean:
		return strconv.FormatBool(truth[n.text])
	case list:
		return "[…]"
	case mapping:
		return "map[…]"
	default:
		return n.text[:min(len(n.text), 128)]
	}
}
