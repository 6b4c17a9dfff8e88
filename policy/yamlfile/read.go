// Package yamlfile reads operators' YAML files: policies, users, and the rules of envoyproxy/ratelimit. It handles only
// YAML and does not know the files' fields. It reports each error with a line and a column.
//
//	read.go     a text → documents
//	resolve.go  the library's tree → nodes, within bounds, with aliases and merge keys replaced
//	node.go     a value in a file
//	decode.go   nodes → structs, by the names in their tags (fields.go)
//	errors.go   all errors in a file, with excerpts (syntax.go: from the YAML library)
//	nearest.go  the most similar name: did you mean …?
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

const (
	// MaxBytes is the maximum size of a file.
	MaxBytes = 16 << 20
	// maxDocuments is the maximum number of documents in a file.
	maxDocuments = 100
)

// byteOrderMark is written by some editors at the start of a file.
var byteOrderMark = []byte("\xef\xbb\xbf")

// Pauser is called every few values during long work, and may yield. It can be nil.
type Pauser func()

// Pause calls the function if it is not nil.
func (p Pauser) Pause() {
	if p != nil {
		p()
	}
}

// Read reads a file's documents. A document without a value is [Null]. Error messages name the file as name.
func Read(name string, data []byte, pause Pauser) (documents []*Node, errs Errors) {
	// A panic in the YAML library must not end a server.
	defer func() {
		if reason := recover(); reason != nil {
			documents, errs = nil, Errors{ErrorAt(name, Place{}, fmt.Sprintf("not readable as YAML: %v", reason))}
		}
	}()
	data = bytes.TrimPrefix(data, byteOrderMark)
	if err := checkText(name, data); err != nil {
		return nil, Errors{err}
	}
	loader, err := yaml.NewLoader(pausingReader{bytes.NewReader(data), pause})
	r := resolver{file: name, pause: pause, anchors: map[*yaml.Node]*Node{}}
	for err == nil {
		if len(documents) > maxDocuments {
			return nil, Errors{ErrorAt(name, documents[maxDocuments].At, fmt.Sprintf("more than %d YAML documents", maxDocuments))}
		}
		var document yaml.Node
		if err = loader.Load(&document); err != nil {
			break
		}
		if len(document.Content) == 0 {
			documents = append(documents, &Node{At: placeOf(&document)})
			continue
		}
		documents = append(documents, r.node(document.Content[0]))
	}
	if !errors.Is(err, io.EOF) {
		return nil, Errors{fromYAML(name, data, err)}
	}
	return documents, r.errs
}

// checkText returns an error for a file that is too long, is not UTF-8, contains a zero byte, or begins with the end of
// a document, which the library would ignore.
func checkText(name string, data []byte) *Error {
	if len(data) > MaxBytes {
		return ErrorAt(name, Place{}, "file is larger than 16 MiB")
	}
	if at := (Place{beginning(data), 1}); at.Line > 0 {
		return ErrorAt(name, at, `"..." ends a document before one begins; accepted: a file that begins with its first field`)
	}
	at := Place{1, 1}
	for rest := data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 || r == 0 {
			return ErrorAt(name, at, fmt.Sprintf("byte 0x%02x: not a text file; accepted: UTF-8", rest[0]))
		}
		if rest = rest[size:]; r == '\n' {
			at = Place{at.Line + 1, 1}
		} else {
			at.Column++
		}
	}
	return nil
}

// beginning returns the line of a "..." that comes first in the file, apart from comments. It returns 0 if there is no
// such line.
func beginning(data []byte) (line int) {
	for text := range bytes.Lines(data) {
		line++
		text = bytes.TrimRight(text, " \t\r\n")
		if len(text) == 0 || bytes.TrimLeft(text, " \t")[0] == '#' {
			continue
		}
		if rest, dots := bytes.CutPrefix(text, []byte("...")); dots && (len(rest) == 0 || strings.IndexByte(" \t\r", rest[0]) >= 0) {
			return line
		}
		break
	}
	return 0
}

// pausingReader calls pause before it reads each chunk of the text.
type pausingReader struct {
	from  io.Reader
	pause Pauser
}

// pieceBytes is the size of a chunk: about ten policies.
const pieceBytes = 512

// Read implements [io.Reader].
func (p pausingReader) Read(to []byte) (int, error) {
	p.pause.Pause()
	return p.from.Read(to[:min(len(to), pieceBytes)])
}
