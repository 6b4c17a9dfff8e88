package policy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// resolver makes nodes of the YAML library's tree.
type resolver struct {
	file    string
	anchors map[string]*node // by name; a later anchor of the same name replaces it
	depth   int
	nodes   int
	errs    Errors
}

// broken reports an error and returns the node for a value that could not be read.
func (r *resolver) broken(at *token.Token, message string) *node {
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, errorAt(r.file, at, message))
	}
	return &node{kind: brokenNode, token: at}
}

// count adds to the number of values in the file and reports whether that is too high.
func (r *resolver) count(at *token.Token, size int) (tooMany bool) {
	if r.nodes > maxNodes {
		return true // was reported
	}
	if r.nodes += size; r.nodes <= maxNodes {
		return false
	}
	r.broken(at, "more than "+strconv.Itoa(maxNodes)+" values, those that aliases repeat included")
	return true
}

// tooDeep enters a list or mapping, which leave ends, and reports whether that is nested
// too deeply.
func (r *resolver) tooDeep(at *token.Token) bool {
	if r.depth == maxNesting {
		r.broken(at, fmt.Sprintf("nested too deeply; accepted: %d levels", maxNesting))
		return true
	}
	r.depth++
	return false
}

func (r *resolver) leave() { r.depth-- }

func (r *resolver) node(from ast.Node) *node {
	if from == nil {
		return &node{kind: nullNode, size: 1}
	}
	at := from.GetToken()
	if r.count(at, 1) {
		return &node{kind: brokenNode, token: at}
	}
	switch y := from.(type) {
	case *ast.AliasNode:
		return r.alias(y)
	case *ast.AnchorNode:
		value := r.node(y.Value)
		r.anchors[y.Name.GetToken().Value] = value
		return value
	case *ast.TagNode:
		return r.tag(y)
	case *ast.MappingNode:
		if len(y.Values) > 0 && !y.IsFlowStyle {
			at = y.Values[0].Key.GetToken()
		}
		return r.mapping(at, y.Values)
	case *ast.MappingValueNode:
		return r.mapping(y.Key.GetToken(), []*ast.MappingValueNode{y})
	case *ast.SequenceNode:
		return r.list(y)
	default:
		return r.scalar(from)
	}
}

func (r *resolver) scalar(from ast.Node) *node {
	n := &node{token: from.GetToken(), size: 1}
	switch y := from.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		n.kind, n.text = truthNode, y.Token.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		if n.kind, n.text = decimalNode, n.token.Value; whole.MatchString(n.text) {
			n.kind = wholeNode
		}
	case *ast.StringNode:
		n.kind, n.text = textNode, y.Value
	case *ast.LiteralNode:
		n.kind, n.text = textNode, y.Value.Value
	default:
		return r.broken(n.token, from.Type().String()+" has no meaning here; accepted: fields, lists and values")
	}
	return n
}

var whole = regexp.MustCompile(`^[-+]?[0-9]+$`)

// tag reads a value with a tag such as !!str.
func (r *resolver) tag(y *ast.TagNode) *node {
	if y.Value == nil {
		return r.broken(y.Start, "tag "+quote(y.Start.Value)+" without a value")
	}
	n := r.node(y.Value)
	if y.Start.Value != "!!str" || !n.scalar() {
		return r.broken(y.Start, "tag "+quote(y.Start.Value)+"; accepted: values without a tag, or texts with !!str")
	}
	text := *n
	text.kind = textNode
	return &text
}

func (r *resolver) alias(y *ast.AliasNode) *node {
	at := y.Value.GetToken()
	n, ok := r.anchors[at.Value]
	if !ok {
		return r.broken(at, "no anchor &"+at.Value+" before this alias"+didYouMean(at.Value, slices.Collect(maps.Keys(r.anchors))))
	}
	if r.count(at, n.size) {
		return &node{kind: brokenNode, token: at}
	}
	return n
}

func (r *resolver) list(y *ast.SequenceNode) *node {
	if r.tooDeep(y.GetToken()) {
		return &node{kind: brokenNode, token: y.GetToken()}
	}
	defer r.leave()
	n := &node{kind: listNode, token: y.GetToken(), items: make([]*node, len(y.Values)), size: 1}
	for i, value := range y.Values {
		n.items[i] = r.node(value)
		n.size += n.items[i].size
	}
	return n
}

// mapping reads the fields of a mapping. Its own fields take precedence over those of
// merge keys, and an earlier merge key over a later one.
func (r *resolver) mapping(at *token.Token, values []*ast.MappingValueNode) *node {
	if r.tooDeep(at) {
		return &node{kind: brokenNode, token: at}
	}
	defer r.leave()
	n := &node{kind: mappingNode, token: at, pairs: make([]pair, 0, len(values)), size: 1}
	var merged []*node
	for _, y := range values {
		value := r.node(y.Value)
		if y.Key.IsMergeKey() {
			merged = append(merged, r.sources(y.Key.GetToken(), value)...)
			continue
		}
		if key := r.key(y.Key); key.kind != brokenNode {
			n.pairs = append(n.pairs, pair{key: key.text, token: key.token, value: value})
			n.size += value.size
		}
	}
	n.merge(merged)
	return n
}

// key reads the name of a field.
func (r *resolver) key(y ast.MapKeyNode) *node {
	from := ast.Node(y)
	if explicit, ok := y.(*ast.MappingKeyNode); ok {
		from = explicit.Value
	}
	key := r.node(from)
	switch {
	case key.kind == nullNode:
		return &node{kind: textNode, text: key.token.Value, token: key.token}
	case key.kind != brokenNode && !key.scalar():
		return r.broken(y.GetToken(), "a field's name is "+key.kind.String()+"; accepted: a text")
	default:
		return key
	}
}

// sources returns the mappings that a merge key names.
func (r *resolver) sources(key *token.Token, value *node) []*node {
	sources := []*node{value}
	if value.kind == listNode {
		sources = value.items
	}
	for _, source := range sources {
		if source.kind != mappingNode {
			if source.kind != brokenNode {
				r.broken(key, "<< merges "+source.kind.String()+"; accepted: an alias of a group of fields, or a list of them")
			}
			return nil
		}
	}
	return sources
}

// merge adds the fields of the sources that the mapping lacks.
func (n *node) merge(sources []*node) {
	if len(sources) == 0 {
		return
	}
	has := make(map[string]bool, len(n.pairs))
	for i := range n.pairs {
		has[n.pairs[i].key] = true
	}
	for _, source := range sources {
		for _, p := range source.pairs {
			if !has[p.key] {
				has[p.key] = true
				n.pairs = append(n.pairs, p)
				n.size += p.value.size
			}
		}
	}
}
