package yamlfile

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v4"

	"github.com/headgate/headgate/engine"
)

// Bounds on the number and the nesting of a file's values.
const (
	// maxNodes bounds the number of values in a file, including repetitions by aliases. Without this bound, ten aliases
	// of ten aliases of ten … would exhaust the memory.
	maxNodes = 4 << 20
	// maxNesting is the maximum nesting depth, including aliases.
	maxNesting = 100
)

// resolver converts the YAML library's tree to nodes.
type resolver struct {
	file    string
	pause   Pauser
	anchors map[*yaml.Node]*Node // values that have been read, for aliases
	depth   int
	nodes   int
	errs    Errors
}

// broken reports an error, and returns a node for the unreadable value.
func (r *resolver) broken(at Place, message string) *Node {
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, ErrorAt(r.file, at, message))
	}
	return &Node{Kind: broken, At: at}
}

// count adds size to the number of values in the file, and reports whether there are too many.
func (r *resolver) count(at Place, size int) (tooMany bool) {
	if r.nodes > maxNodes {
		return true // already reported
	}
	if r.nodes += size; r.nodes <= maxNodes {
		return false
	}
	r.broken(at, "more than "+strconv.Itoa(maxNodes)+" values, those that aliases repeat included")
	return true
}

func (r *resolver) tooDeep(at Place) *Node {
	return r.broken(at, fmt.Sprintf("nested too deeply; accepted: %d levels", maxNesting))
}

func (r *resolver) node(from *yaml.Node) *Node {
	at := placeOf(from)
	if from.Kind == yaml.AliasNode {
		return r.alias(at, from)
	}
	if r.count(at, 1) {
		return &Node{Kind: broken, At: at}
	}
	n := r.value(at, from)
	if from.Anchor != "" {
		r.anchors[from] = n
	}
	return n
}

// value returns the node for a value that is not an alias.
func (r *resolver) value(at Place, from *yaml.Node) *Node {
	if from.Style&yaml.TaggedStyle != 0 && (from.Kind != yaml.ScalarNode || from.Tag != textTag) {
		return r.broken(at, "tag "+engine.Quote(from.Tag)+"; accepted: values without a tag, or texts with !!str")
	}
	if from.Kind != yaml.MappingNode && from.Kind != yaml.SequenceNode {
		return scalar(at, from)
	}
	if r.depth == maxNesting {
		return r.tooDeep(at)
	}
	r.depth++
	defer func() { r.depth-- }()
	if from.Kind == yaml.MappingNode {
		return r.mapping(at, from.Content)
	}
	return r.list(at, from.Content)
}

// The tags of the library.
const (
	textTag  = "!!str"
	nullTag  = "!!null"
	truthTag = "!!bool"
	wholeTag = "!!int"
	floatTag = "!!float"
	mergeTag = "!!merge" // tag of the key <<
)

func scalar(at Place, from *yaml.Node) *Node {
	n := &Node{Kind: Text, At: at, Text: from.Value, Plain: from.Style == 0, size: 1}
	switch from.Tag {
	case nullTag:
		n.Kind = Null
	case truthTag:
		n.Kind = Truth
	case wholeTag:
		n.Kind = Integer
	case floatTag:
		n.Kind = Float
	}
	return n
}

func (r *resolver) alias(at Place, from *yaml.Node) *Node {
	n, ok := r.anchors[from.Alias]
	switch {
	case !ok: // the alias is inside the value that it refers to
		return r.broken(at, "no anchor &"+from.Value+" before this alias")
	case r.count(at, n.size):
		return &Node{Kind: broken, At: at}
	case r.depth+n.height > maxNesting:
		return r.tooDeep(at)
	default:
		return n
	}
}

// contains updates the size and the height of n for a new child.
func (n *Node) contains(value *Node) {
	n.size += value.size
	n.height = max(n.height, value.height+1)
}

func (r *resolver) list(at Place, values []*yaml.Node) *Node {
	n := &Node{Kind: List, At: at, Items: make([]*Node, len(values)), size: 1, height: 1}
	for i, value := range values {
		n.Items[i] = r.node(value)
		n.contains(n.Items[i])
	}
	return n
}

// mapping returns the node for a mapping, whose names and values alternate. The mapping's own fields take precedence
// over merge keys, and earlier merge keys over later ones.
func (r *resolver) mapping(at Place, values []*yaml.Node) *Node {
	r.pause.Pause()
	n := &Node{Kind: Mapping, At: at, Pairs: make([]Pair, 0, len(values)/2), size: 1, height: 1}
	var merged []*Node
	for ; len(values) > 1; values = values[2:] {
		value := r.node(values[1])
		if values[0].Tag == mergeTag {
			merged = append(merged, r.sources(placeOf(values[0]), value)...)
			continue
		}
		if key := r.key(values[0]); key.Kind != broken {
			n.Pairs = append(n.Pairs, Pair{key, value})
			n.contains(value)
		}
	}
	n.merge(merged)
	return n
}

// key returns the node for a field's name.
func (r *resolver) key(from *yaml.Node) *Node {
	key := r.node(from)
	if key.Kind == Mapping || key.Kind == List {
		return r.broken(key.At, "a field's name is "+key.Kind.String()+"; accepted: a text")
	}
	return key
}

// sources returns the mappings that a merge key refers to, or nil after an error.
func (r *resolver) sources(key Place, value *Node) []*Node {
	sources := []*Node{value}
	if value.Kind == List {
		sources = value.Items
	}
	for _, source := range sources {
		if source.Kind != Mapping {
			if source.Kind != broken {
				r.broken(key, "<< merges "+source.Kind.String()+"; accepted: an alias of a group of fields, or a list of them")
			}
			return nil
		}
	}
	return sources
}

// merge adds the sources' fields that the mapping lacks.
func (n *Node) merge(sources []*Node) {
	if len(sources) == 0 {
		return
	}
	has := make(map[string]bool, len(n.Pairs))
	for i := range n.Pairs {
		has[n.Pairs[i].Key.Text] = true
	}
	for _, source := range sources {
		for _, p := range source.Pairs {
			if !has[p.Key.Text] {
				has[p.Key.Text] = true
				n.Pairs = append(n.Pairs, p)
				n.contains(p.Value)
			}
		}
	}
}
