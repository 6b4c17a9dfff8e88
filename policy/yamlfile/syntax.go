package yamlfile

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// placeOf returns the position of a value in the YAML library's tree.
func placeOf(n *yaml.Node) Place { return Place{n.Line, n.Column} }

var (
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
	anchorNames   = regexp.MustCompile(`&([^\s,\[\]{}]+)`)
)

// fromYAML converts an error from the YAML library.
func fromYAML(name string, data []byte, err error) *Error {
	y, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return ErrorAt(name, Place{}, err.Error())
	}
	at, message := Place{y.Mark.Line, y.Mark.Column}, y.Message
	if anchor := unknownAnchor.FindStringSubmatch(message); anchor != nil {
		message = "no anchor &" + anchor[1] + " before this alias" + Guess(anchor[1], anchors(data))
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
	return ErrorAt(name, at, message)
}

// anchors returns the substrings of a file that look like anchor names.
func anchors(data []byte) (names []string) {
	for _, found := range anchorNames.FindAllSubmatch(data, maxErrors) {
		names = append(names, string(found[1]))
	}
	return names
}
