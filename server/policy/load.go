package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/headgate/headgate/server/store"
)

// Config is what a configuration file says.
type Config struct {
	Policies *Set
	// RESP, HTTP and Store are addresses, StorePasswordFile a file's name; ""
	// where the file says nothing.
	RESP, HTTP, Store, StorePasswordFile string
}

// Error is one mistake in a file, with its place.
type Error struct {
	File         string
	Line, Column int
	// Message says what is wrong and what is accepted.
	Message string
	// Excerpt is the lines around the place, marked; "" where there are none.
	Excerpt string
}

// Error is one line: file:line:column: message.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// MaxFileBytes is the size of the largest configuration file.
const MaxFileBytes = 16 << 20

// Parse reads a configuration file's text. Every error is an [*Error].
func Parse(name string, data []byte) (*Config, error) {
	if len(data) > MaxFileBytes {
		return nil, &Error{File: name, Line: 1, Column: 1, Message: "file is larger than 16 MiB"}
	}
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, placed(name, err)
	}
	if len(tree.Docs) > 1 {
		return nil, &Error{File: name, Line: 1, Column: 1, Message: "more than one YAML document; accepted: one"}
	}
	if err := checkNumbers(name, tree); err != nil {
		return nil, err
	}
	var f file
	if err := yaml.UnmarshalWithOptions(data, &f, yaml.Strict()); err != nil {
		return nil, placed(name, err)
	}
	config, err := f.config()
	if err != nil {
		return nil, located(name, tree, err)
	}
	return config, nil
}

// placed turns the YAML library's error into ours.
func placed(name string, err error) error {
	e := &Error{File: name, Line: 1, Column: 1, Message: err.Error()}
	if y, ok := errors.AsType[yaml.Error](err); ok {
		e.Message = y.GetMessage()
		e.mark(y.GetToken())
	}
	return e
}

// located finds the place of a field's path in the file: of the deepest part
// that was written.
func located(name string, tree *ast.File, err error) error {
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

// find walks down the tree along the path and returns the last token it meets.
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

// config checks what the file says and builds it.
func (f *file) config() (*Config, error) {
	if err := f.unsupported(); err != nil {
		return nil, err
	}
	set, err := f.set()
	if err != nil {
		return nil, err
	}
	c := &Config{Policies: set}
	for _, l := range []struct {
		fields *listenerFields
		to     *string
	}{{f.Listeners.RESP, &c.RESP}, {f.Listeners.HTTP, &c.HTTP}} {
		if l.fields != nil && l.fields.Address != nil {
			*l.to = *l.fields.Address
		}
	}
	if f.Store.URL != nil {
		c.Store = *f.Store.URL
		if !store.Known(c.Store) {
			return nil, at(refuse("url", quote(store.Redacted(c.Store)), store.Accepted), "store")
		}
	}
	if f.Store.PasswordFile != nil {
		c.StorePasswordFile = *f.Store.PasswordFile
	}
	return c, nil
}

// unsupported refuses what is not built yet, by name.
func (f *file) unsupported() error {
	type field struct {
		value any
		path  []string
	}
	fields := []field{
		{f.TrustedProxies, []string{"trusted_proxies"}},
		{f.Routes, []string{"routes"}},
		{f.Upstreams, []string{"upstreams"}},
		{f.Listeners.GRPC, []string{"listeners", "grpc"}},
		{f.Listeners.Admin, []string{"listeners", "admin"}},
	}
	for _, l := range []struct {
		name   string
		fields *listenerFields
	}{{"resp", f.Listeners.RESP}, {"http", f.Listeners.HTTP}} {
		if l.fields != nil {
			fields = append(fields, field{l.fields.UsersFile, []string{"listeners", l.name, "users_file"}},
				field{l.fields.TLS, []string{"listeners", l.name, "tls"}})
		}
	}
	for _, x := range fields {
		if x.value != nil {
			return at(errors.New("not supported yet"), x.path...)
		}
	}
	return nil
}

func quote(s string) string { return strconv.Quote(s[:min(len(s), 128)]) }

// sortedNames makes the order of errors the same at each run.
func sortedNames(policies map[string]*policyFields) []string {
	return slices.Sorted(maps.Keys(policies))
}
