package policy

import (
	"errors"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// fromYAML converts an error of the YAML library.
func fromYAML(name string, err error) *Error {
	e := &Error{File: name, Line: 1, Column: 1, Message: err.Error()}
	if y, ok := errors.AsType[yaml.Error](err); ok {
		e.Message = y.GetMessage()
		e.mark(y.GetToken())
	}
	return e
}

// locate adds the position of the invalid field to an error: that of the deepest part of
// its path that the file has.
func locate(name string, tree *ast.File, err error) *Error {
	e := &Error{File: name, Line: 1, Column: 1, Message: strings.TrimPrefix(err.Error(), "headgate: ")}
	f, ok := errors.AsType[*fieldError](err)
	if !ok {
		return e
	}
	e.Message = strings.Join(f.path, ".") + ": " + e.Message
	if len(tree.Docs) > 0 && tree.Docs[0].Body != nil {
		e.mark(find(tree.Docs[0].Body, f.path))
	}
	return e
}

// mark sets the position and the excerpt.
func (e *Error) mark(t *token.Token) {
	if t == nil || t.Position == nil {
		return
	}
	e.Line, e.Column = t.Position.Line, t.Position.Column
	text := yaml.FormatErrorWithToken("", t, false, true)
	if _, excerpt, ok := strings.Cut(text, "\n"); ok {
		e.Excerpt = strings.TrimRight(excerpt, "\n")
	}
}

// find follows the path down the tree and returns the last token on it.
func find(node ast.Node, path []string) *token.Token {
	last := node.GetToken()
	for _, step := range path {
		next := child(node, step)
		if next == nil {
			break
		}
		node, last = next, next.GetToken()
	}
	return last
}

// child returns the value of a key of a mapping, or of an index of a list.
func child(node ast.Node, step string) ast.Node {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			if v.Key.String() == step || v.Key.GetToken().Value == step {
				return v.Value
			}
		}
	case *ast.MappingValueNode:
		if n.Key.GetToken().Value == step {
			return n.Value
		}
	case *ast.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i < len(n.Values) {
			return n.Values[i]
		}
	case *ast.AnchorNode:
		return child(n.Value, step)
	}
	return nil
}
