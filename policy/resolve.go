package policy

import (
	"fmt"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v4"

	"github.com/headgate/headgate/internal/format"
)

// resolver makes nodes of the YAML library's tree.
type resolver struct {
	file    string
	pause   pauser
	anchors map[*yaml.Node]*node // values that were read, and that aliases may repeat
	depth   int
	nodes   int
	errs    Errors
}

// broken reports an error and returns the node for a value that could not be read.
func (r *resolver) broken(at place, message string) *node {
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, errorAt(r.file, at, message))
	}
	return &node{kind: brokenNode, at: at}
}

// count adds to the number of values in the file and reports whether that is too high.
func (r *resolver) count(at place, size int) (tooMany bool) {
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
func (r *resolver) tooDeep(at place) bool {
	if r.depth == maxNesting {
		r.broken(at, fmt.Sprintf("nested too deeply; accepted: %d levels", maxNesting))
		return true
	}
	r.depth++
	return false
}

func (r *resolver) leave() { r.depth-- }

func (r *resolver) node(from *yaml.Node) *node {
	at := placeOf(from)
	if from.Kind == yaml.AliasNode {
		return r.alias(at, from)
	}
	if r.count(at, 1) {
		return &node{kind: brokenNode, at: at}
	}
	n := r.value(at, from)
	if from.Anchor != "" {
		r.anchors[from] = n
	}
	return n
}

// value reads what is not an alias.
func (r *resolver) value(at place, from *yaml.Node) *node {
	if from.Style&yaml.TaggedStyle != 0 && (from.Kind != yaml.ScalarNode || from.Tag != textTag) {
		return r.broken(at, "tag "+format.Quote(from.Tag)+"; accepted: values without a tag, or texts with !!str")
	}
	switch from.Kind {
	case yaml.MappingNode:
		return r.mapping(at, from.Content)
	case yaml.SequenceNode:
		return r.list(at, from.Content)
	default:
		return scalar(at, from)
	}
}

// The tags of values that are not texts.
const (
	textTag  = "!!str"
	nullTag  = "!!null"
	truthTag = "!!bool"
	wholeTag = "!!int"
	floatTag = "!!float"
)

func scalar(at place, from *yaml.Node) *node {
	n := &node{kind: textNode, at: at, text: from.Value, size: 1}
	switch from.Tag {
	case nullTag:
		n.kind = nullNode
	case truthTag:
		n.kind = truthNode
	case wholeTag, floatTag:
		if n.kind = decimalNode; whole.MatchString(n.text) {
			n.kind = wholeNode
		}
	}
	return n
}

var whole = regexp.MustCompile(`^[-+]?[0-9]+$`)

func (r *resolver) alias(at place, from *yaml.Node) *node {
	n, ok := r.anchors[from.Alias]
	if !ok { // inside of the value that it stands for
		return r.broken(at, "no anchor &"+from.Value+" before this alias")
	}
	if r.count(at, n.size) {
		return &node{kind: brokenNode, at: at}
	}
	return n
}

func (r *resolver) list(at place, values []*yaml.Node) *node {
	if r.tooDeep(at) {
		return &node{kind: brokenNode, at: at}
	}
	defer r.leave()
	n := &node{kind: listNode, at: at, items: make([]*node, len(values)), size: 1}
	for i, value := range values {
		n.items[i] = r.node(value)
		n.size += n.items[i].size
	}
	return n
}

// mapping reads the fields of a mapping, whose names and values take turns. Its own fields
// take precedence over those of merge keys, and an earlier merge key over a later one.
func (r *resolver) mapping(at place, values []*yaml.Node) *node {
	r.pause.pause()
	if r.tooDeep(at) {
		return &node{kind: brokenNode, at: at}
	}
	defer r.leave()
	n := &node{kind: mappingNode, at: at, pairs: make([]pair, 0, len(values)/2), size: 1}
	var merged []*node
	for ; len(values) > 1; values = values[2:] {
		value := r.node(values[1])
		if values[0].Tag == mergeTag {
			merged = append(merged, r.sources(placeOf(values[0]), value)...)
			continue
		}
		if key := r.key(values[0]); key.kind != brokenNode {
			n.pairs = append(n.pairs, pair{key: key.text, at: key.at, value: value})
			n.size += value.size
		}
	}
	n.merge(merged)
	return n
}

// mergeTag is the tag of the key <<.
const mergeTag = "!!merge"

// key reads the name of a field.
func (r *resolver) key(from *yaml.Node) *node {
	key := r.node(from)
	switch {
	case key.kind == nullNode:
		return &node{kind: textNode, text: key.text, at: key.at}
	case key.kind != brokenNode && !key.scalar():
		return r.broken(key.at, "a field's name is "+key.kind.String()+"; accepted: a text")
	default:
		return key
	}
}

// sources returns the mappings that a merge key names.
func (r *resolver) sources(key place, value *node) []*node {
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
