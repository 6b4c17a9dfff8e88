package envoy

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// node is a value of a YAML file, with anchors and tags resolved. envoyproxy/ratelimit
// reads YAML 1.1: there yes and on are booleans, and the last of two equal keys counts.
type node struct {
	kind  kind
	text  string // of a scalar, as written
	plain bool   // the scalar has no quotes
	pairs []pair
	items []*node
	at    *token.Token
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
	tree, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, 0, atToken(err)
	}
	r := reader{anchors: map[string]*node{}}
	for _, d := range tree.Docs {
		if d.Body != nil {
			documents++
		}
	}
	if documents == 0 {
		return &node{}, 0, nil
	}
	first := tree.Docs[slices.IndexFunc(tree.Docs, func(d *ast.DocumentNode) bool { return d.Body != nil })]
	root, err = r.read(first.Body, 0)
	return root, documents, err
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

// atToken adds the position to an error of the YAML library.
func atToken(err error) error {
	if y, ok := errors.AsType[yaml.Error](err); ok {
		return located(errors.New(y.GetMessage()), y.GetToken())
	}
	return err
}

// position is an error with the place that it is about. The words come first: scripts
// compare them.
type position struct {
	err          error
	line, column int
}

func (p *position) Error() string {
	return fmt.Sprintf("%s (line %d, column %d)", p.err, p.line, p.column)
}

func (p *position) Unwrap() error { return p.err }

func located(err error, t *token.Token) error {
	if t == nil || t.Position == nil {
		return err
	}
	return &position{err: err, line: t.Position.Line, column: t.Position.Column}
}

// reader turns the library's tree into nodes.
type reader struct {
	anchors map[string]*node
}

func (r *reader) read(from ast.Node, depth int) (*node, error) {
	if depth > maxNesting {
		return nil, located(errors.New("values nest more than 100 deep"), from.GetToken())
	}
	switch f := from.(type) {
	case *ast.AnchorNode:
		n, err := r.read(f.Value, depth+1)
		if err == nil {
			r.anchors[f.Name.GetToken().Value] = n
		}
		return n, err
	case *ast.AliasNode:
		name := f.Value.GetToken().Value
		if n := r.anchors[name]; n != nil {
			return n, nil
		}
		return nil, located(fmt.Errorf("unknown anchor '%s' referenced", name), f.GetToken())
	case *ast.TagNode:
		return r.tagged(f, depth)
	case *ast.MappingNode:
		return r.mapping(f.Values, f.GetToken(), depth)
	case *ast.MappingValueNode:
		return r.mapping([]*ast.MappingValueNode{f}, f.GetToken(), depth)
	case *ast.SequenceNode:
		n := &node{kind: list, at: f.GetToken()}
		for _, v := range f.Values {
			item, err := r.read(v, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		return n, nil
	case nil:
		return &node{}, nil
	default:
		return scalar(from), nil
	}
}

func (r *reader) mapping(values []*ast.MappingValueNode, at *token.Token, depth int) (*node, error) {
	if len(values) > 0 && at != nil && at.Type == token.MappingValueType { // no brace: begins with the first key
		at = values[0].Key.GetToken()
	}
	n := &node{kind: mapping, at: at}
	for _, v := range values {
		value, err := r.read(v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if v.Key.Type() == ast.MergeKeyType {
			if err := n.merge(value); err != nil {
				return nil, located(err, v.Key.GetToken())
			}
			continue
		}
		key, err := r.read(v.Key, depth+1)
		if err != nil {
			return nil, err
		}
		n.set(key, value)
	}
	return n, nil
}

// set adds a pair, or replaces the value of an equal key.
func (n *node) set(key, value *node) {
	for i := range n.pairs {
		if n.pairs[i].key.text == key.text && n.pairs[i].key.kind == key.kind {
			n.pairs[i] = pair{key, value}
			return
		}
	}
	n.pairs = append(n.pairs, pair{key, value})
}

// merge adds the pairs of a mapping, or of a list of mappings, whose keys are not set.
func (n *node) merge(from *node) error {
	sources := []*node{from}
	if from.kind == list {
		sources = from.items
	}
	for _, s := range sources {
		if s.kind != mapping {
			return errors.New("map merge requires map or sequence of maps as the value")
		}
		for _, p := range s.pairs {
			if n.get(p.key.text) == nil {
				n.set(p.key, p.value)
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

// tagged reads a value with a tag, such as !!str 5.
func (r *reader) tagged(t *ast.TagNode, depth int) (*node, error) {
	n, err := r.read(t.Value, depth+1)
	if err == nil && t.Start.Value == "!!str" && n.kind < mapping {
		copied := *n
		copied.kind, n = text, &copied
	}
	return n, err
}

// scalar reads a value that is neither a mapping nor a list.
func scalar(from ast.Node) *node {
	t := from.GetToken()
	n := &node{kind: text, at: t}
	if t != nil {
		n.text = t.Value
	}
	switch f := from.(type) {
	case *ast.NullNode:
		n.kind = null
	case *ast.IntegerNode:
		n.kind, n.plain = integer, true
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.kind, n.plain = float, true
	case *ast.BoolNode:
		n.kind, n.plain = boolean, true
	case *ast.LiteralNode:
		n.text = f.Value.Value
	case *ast.StringNode:
		n.text = f.Value
		n.plain = t.Type == token.StringType
		if _, ok := truth[n.text]; ok && n.plain {
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
