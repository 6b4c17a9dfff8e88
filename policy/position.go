package policy

import (
	"errors"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/token"
)

// fromYAML converts an error of the YAML library.
func fromYAML(name string, err error) *Error {
	if y, ok := errors.AsType[yaml.Error](err); ok {
		message := y.GetMessage()
		if strings.Contains(message, "'}' must be specified") {
			message += "; a text with braces, such as a path with {id}, is written in quotes"
		}
		return errorAt(name, y.GetToken(), message)
	}
	return errorAt(name, nil, err.Error())
}

// errorAt returns an error at a token, or at the first character if that is nil.
func errorAt(name string, at *token.Token, message string) *Error {
	e := &Error{File: name, Line: 1, Column: 1, Message: message}
	if at != nil && at.Position != nil {
		e.placed = true
		e.Line, e.Column = max(at.Position.Line, 1), max(at.Position.Column, 1)
	}
	return e
}

// locate adds the position of the invalid field to an error: that of the deepest part of
// its path that the file has.
func locate(name string, root *node, err error) *Error {
	f, ok := errors.AsType[*fieldError](err)
	if !ok {
		return errorAt(name, nil, messageOf(err))
	}
	return errorAt(name, find(root, f.path), messageOf(err))
}

// messageOf returns the path of the invalid field with what is wrong.
func messageOf(err error) string {
	message := strings.TrimPrefix(err.Error(), "headgate: ")
	if f, ok := errors.AsType[*fieldError](err); ok && len(f.path) > 0 {
		return strings.Join(f.path, ".") + ": " + message
	}
	return message
}

// find follows the path down the tree and returns the last token on it.
func find(n *node, path []string) *token.Token {
	last := n.token
	for _, step := range path {
		if n = n.child(step); n == nil {
			break
		}
		if n.token != nil {
			last = n.token
		}
	}
	return last
}

// child returns the value of a key of a mapping, or of an index of a list.
func (n *node) child(step string) *node {
	if n.kind == listNode {
		if i, err := strconv.Atoi(step); err == nil && i < len(n.items) {
			return n.items[i]
		}
		return nil
	}
	return n.value(step)
}
