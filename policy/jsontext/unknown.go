package jsontext

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/headgate/headgate/engine"
)

// Object decodes valid JSON into v, whose fields have the known names, and returns the error of [Unknown]. [Decode]
// also checks nested objects, but its decoder allocates 1 KiB, and a client can send many objects.
func Object(data []byte, v any, known []string) error {
	if bad := Unknown(data, known); bad != nil {
		return bad
	}
	return json.Unmarshal(data, v)
}

// Unknown returns an error for the first name in an object that is not one of the known names, ignoring case like
// encoding/json. It does not check nested objects, but returns an error for a value nested deeper than any [Bounds]
// allow. data must be valid JSON. If it is not an object, it has no names.
func Unknown(data []byte, known []string) *Error {
	depth := 0
	var text []byte // the last text, with its escapes
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '"':
			from := i + 1
			for i = from; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			text = data[from:min(i, len(data))]
		case '{', '[':
			if depth++; depth > maxDepth {
				return &Error{Detail: fmt.Sprintf("nested deeper than %d levels", maxDepth)}
			}
		case '}', ']':
			depth--
		case ':':
			if depth != 1 || slices.Contains(known, string(text)) {
				continue
			}
			if name := unescape(text); !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
				return unknown(name)
			}
		}
	}
	return nil
}

func unknown(name string) *Error {
	return &Error{Field: engine.Cut(name), Detail: fmt.Sprintf("unknown field %.128q", name), Unknown: true}
}
