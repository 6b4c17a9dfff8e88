package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headgate/headgate/engine"
)

// Members calls set with each member of an object in valid JSON, in order, and with its name as in known. It returns the
// error of [Unknown], or the first error of set with the path of the member. null has no members. [Decode] also checks
// the names in nested objects, but its decoder allocates 1 KiB, and a client can send many objects.
func Members(data []byte, known []string, set func(name string, value []byte) error) error {
	if bad := Unknown(data, known); bad != nil {
		return bad
	}
	if len(data) == 0 || data[0] != '{' {
		return json.Unmarshal(data, &struct{}{}) // null, or an error
	}
	return members(data, func(text, value []byte) error {
		name := knownName(text, known)
		err := set(name, value)
		if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			mismatch.Field = strings.TrimSuffix(name+"."+mismatch.Field, ".")
		}
		return err
	})
}

// Unknown returns an error for the first name in an object that is not one of the known names, ignoring case like
// encoding/json. It does not check nested objects, but returns an error for a value nested deeper than any [Bounds]
// allow. data must be valid JSON. If it is not an object, it has no names.
func Unknown(data []byte, known []string) *Error {
	err := members(data, func(name, _ []byte) error {
		if knownName(name, known) == "" {
			return unknown(unescape(name))
		}
		return nil
	})
	own, _ := err.(*Error)
	return own
}

// knownName returns the known name that a name in quotes stands for, or "".
func knownName(text []byte, known []string) string {
	for _, name := range known {
		if name == string(text) {
			return name
		}
	}
	name := unescape(text)
	if i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) }); i >= 0 {
		return known[i]
	}
	return ""
}

// members calls f with the name, without its quotes, and the value of each member of an object. It returns the first
// error of f, or an error for a value nested deeper than any [Bounds] allow.
func members(data []byte, f func(name, value []byte) error) error {
	depth, from := 0, 0
	var text, name []byte // the last text, with its escapes, and the name of the member
	end := func(at int) error {
		if depth != 1 || name == nil {
			return nil
		}
		own := name
		name = nil
		return f(own, bytes.TrimSpace(data[from:at]))
	}
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '"':
			first := i + 1
			for i = first; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
			text = data[first:min(i, len(data))]
		case '{', '[':
			if depth++; depth > maxDepth {
				return &Error{Detail: fmt.Sprintf("nested deeper than %d levels", maxDepth)}
			}
		case '}', ']':
			if err := end(i); err != nil {
				return err
			}
			depth--
		case ',':
			if err := end(i); err != nil {
				return err
			}
		case ':':
			if depth == 1 {
				name, from = text, i+1
			}
		}
	}
	return nil
}

func unknown(name string) *Error {
	return &Error{Field: engine.Cut(name), Detail: fmt.Sprintf("unknown field %.128q", name), Unknown: true}
}
