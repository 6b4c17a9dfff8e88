package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v4"
)

const (
	// maxNodes bounds the values of a file with those that aliases repeat: ten aliases of
	// ten aliases of ten … would fill the memory.
	maxNodes = 4 << 20
	// maxNesting is the deepest nesting that is read. The deepest field of a file is nine
	// levels down.
	maxNesting = 32
)

// readTree reads the YAML. It returns nil if no part of the file can be read, as after an
// error of syntax.
func readTree(name string, data []byte, pause pauser) (root *node, errs Errors) {
	// The YAML library is not ours: a text that it panics on must not end a server.
	defer func() {
		if reason := recover(); reason != nil {
			root, errs = nil, Errors{errorAt(name, place{}, fmt.Sprintf("not readable as YAML: %v", reason))}
		}
	}()
	documents, err := readDocuments(pausingReader{bytes.NewReader(data), pause})
	switch {
	case err != nil:
		return nil, Errors{fromYAML(name, data, err)}
	case len(documents) > 1:
		return nil, Errors{errorAt(name, placeOf(documents[1]), "more than one YAML document; accepted: one")}
	case len(documents) == 0 || empty(documents[0]):
		return nil, Errors{{File: name, Line: 1, Column: 1, Message: "the file is empty; accepted: policies, overrides, trusted_proxies, routes, upstreams, listeners, store"}}
	}
	r := resolver{file: name, pause: pause, anchors: map[*yaml.Node]*node{}}
	return r.node(documents[0].Content[0]), r.errs
}

// readDocuments reads two documents of a file at most.
func readDocuments(from io.Reader) (documents []*yaml.Node, err error) {
	loader, err := yaml.NewLoader(from)
	for err == nil && len(documents) < 2 {
		var document yaml.Node
		if err = loader.Load(&document); err == nil {
			documents = append(documents, &document)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return documents, err
}

// empty reports whether a document has no value.
func empty(document *yaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].Kind == yaml.ScalarNode && document.Content[0].Value == "" && document.Content[0].Tag == nullTag
}
