package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// placeOf returns where a value of the YAML library's tree begins.
func placeOf(n *yaml.Node) place { return place{n.Line, n.Column} }

var (
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	anchorNames   = regexp.MustCompile(`&([^\s,\[\]{}]+)`)
)

// fromYAML converts an error of the YAML library.
func fromYAML(name string, data []byte, err error) *Error {
	y, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return errorAt(name, place{}, err.Error())
	}
	at, message := place{y.Mark.Line, y.Mark.Column}, y.Message
	if anchor := unknownAnchor.FindStringSubmatch(message); anchor != nil {
		message = "no anchor &" + anchor[1] + " before this alias" + didYouMean(anchor[1], anchors(data))
	} else if y.ContextMsg != "" {
		message += " " + y.ContextMsg
		if begin := y.ContextMark; begin.Line > 0 && begin != y.Mark {
			message += fmt.Sprintf(" that begins at line %d, column %d", begin.Line, begin.Column)
		}
	}
	switch {
	case strings.Contains(message, "'}'"):
		message += "; a text with braces, such as a path with {id}, is written in quotes"
	case strings.Contains(message, "cannot start any token"):
		message += "; accepted: spaces instead of tabs, and texts that begin with @, ` or % in quotes"
	}
	return errorAt(name, at, message)
}

// anchors returns what looks like the name of an anchor.
func anchors(data []byte) (names []string) {
	for _, found := range anchorNames.FindAllSubmatch(data, maxErrors) {
		names = append(names, string(found[1]))
	}
	return names
}

// errorAt returns an error at a place, or at the first character if that is not known.
func errorAt(name string, at place, message string) *Error {
	return &Error{File: name, Line: max(at.line, 1), Column: max(at.column, 1), Message: message, placed: at.line > 0}
}

// locate adds the position of the invalid field to an error: that of the deepest part of
// its path that the file has.
func locate(name string, root *node, err error) *Error {
	f, ok := errors.AsType[*fieldError](err)
	if !ok {
		return errorAt(name, place{}, messageOf(err))
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

// find follows the path down the tree and returns the last place on it.
func find(n *node, path []string) place {
	last := n.at
	for _, step := range path {
		if n = n.child(step); n == nil {
			break
		}
		if n.at.line > 0 {
			last = n.at
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
