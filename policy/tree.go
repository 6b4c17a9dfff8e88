package policy

import (
	"fmt"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// maxNodes bounds the values of a file with those that aliases repeat: ten aliases of
	// ten aliases of ten … would fill the memory.
	maxNodes = 4 << 20
	// maxNesting is the deepest nesting that is read. The deepest field of a file is nine
	// levels down. The time of the YAML library grows with the square of the depth.
	maxNesting = 32
)

// readTree reads the YAML. It returns nil if no part of the file can be read, as after an
// error of syntax.
func readTree(name string, data []byte) (root *node, errs Errors) {
	// The YAML library is not ours: a text that it panics on must not end a server.
	defer func() {
		if reason := recover(); reason != nil {
			root, errs = nil, Errors{errorAt(name, nil, fmt.Sprintf("not readable as YAML: %v", reason))}
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if t := tooNested(tokens); t != nil {
		return nil, Errors{errorAt(name, t, fmt.Sprintf("nested too deeply; accepted: %d levels", maxNesting))}
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, Errors{fromYAML(name, err)}
	}
	if len(file.Docs) > 1 {
		return nil, Errors{errorAt(name, file.Docs[1].Start, "more than one YAML document; accepted: one")}
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, Errors{{File: name, Line: 1, Column: 1, Message: "the file is empty; accepted: policies, overrides, trusted_proxies, routes, listeners, store"}}
	}
	r := resolver{file: name, anchors: map[string]*node{}}
	return r.node(file.Docs[0].Body), r.errs
}

// tooNested returns the first token that is nested too deeply: in brackets, or in lists
// that begin on one line. Other nesting costs a line with spaces for each level.
func tooNested(tokens token.Tokens) *token.Token {
	depth, line, onLine := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, onLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType:
			onLine++
		}
		if depth > maxNesting || onLine > maxNesting {
			return t
		}
	}
	return nil
}
