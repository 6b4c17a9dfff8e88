package envoy

import (
	"errors"
	"slices"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/yamlfile"
)

// node is a value in a file. envoyproxy/ratelimit reads YAML 1.1: yes and on are booleans, and if a key occurs twice,
// the last value applies.
type node yamlfile.Node

// parse returns the first document in the file that is not null, as yaml.v2 does. If none exists, it returns an empty
// node. It also returns the number of documents that are not null.
func parse(name string, data []byte) (root *node, documents int, errs yamlfile.Errors) {
	all, errs := yamlfile.Read(name, data, nil)
	root = &node{}
	for _, document := range all {
		if document.Kind == yamlfile.Null {
			continue
		}
		if documents++; documents == 1 {
			root = (*node)(document)
		}
	}
	return root, documents, errs
}

// kind returns the value's type. The booleans of YAML 1.1, such as a plain yes, have the type Truth.
func (n *node) kind() yamlfile.Kind {
	if _, ok := truth[n.Text]; ok && n.Kind == yamlfile.Text && n.Plain {
		return yamlfile.Truth
	}
	return n.Kind
}

// pairs returns the fields of a mapping. If a key occurs twice, the last value is kept, at the position of the first.
func (n *node) pairs() []yamlfile.Pair {
	at := make(map[string]int, len(n.Pairs))
	pairs := make([]yamlfile.Pair, 0, len(n.Pairs))
	for _, p := range n.Pairs {
		if i, ok := at[p.Key.Text]; ok {
			pairs[i] = p
			continue
		}
		at[p.Key.Text] = len(pairs)
		pairs = append(pairs, p)
	}
	return pairs
}

// get returns the value for a key. It returns nil if none exists.
func (n *node) get(key string) *node {
	for _, p := range slices.Backward(n.Pairs) {
		if p.Key.Text == key {
			return (*node)(p.Value)
		}
	}
	return nil
}

// truth maps the booleans of YAML 1.1 to their values.
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

// shown formats a value for error messages as Go prints it, in at most 128 bytes.
func (n *node) shown() string {
	switch n.kind() {
	case yamlfile.Null:
		return "<nil>"
	case yamlfile.Truth:
		return strconv.FormatBool(truth[n.Text])
	case yamlfile.List:
		return "[…]"
	case yamlfile.Mapping:
		return "map[…]"
	default:
		return engine.Cut(n.Text)
	}
}

// position is an error that contains its position in the file, but not yet the file's name.
type position struct {
	error
	at yamlfile.Place
}

func located(err error, at yamlfile.Place) error { return &position{err, at} }

// inFile returns err with the file's name, and with the position that err contains.
func inFile(name string, err error) *yamlfile.Error {
	if done, ok := errors.AsType[*yamlfile.Error](err); ok {
		return done
	}
	var at yamlfile.Place
	if p, ok := errors.AsType[*position](err); ok {
		at = p.at
	}
	return yamlfile.ErrorAt(name, at, err.Error())
}
