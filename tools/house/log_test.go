package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestLogLines checks that docs/operating.md lists every message that the server logs at level info or above.
func TestLogLines(t *testing.T) {
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range logged(t, "../../server") {
		found++
		// The page may cut a long message after its colon.
		head, _, _ := strings.Cut(m, ": ")
		if text := string(page); !strings.Contains(text, m) && !strings.Contains(text, head+": …`") {
			t.Errorf("docs/operating.md does not list the log line %q", m)
		}
	}
	if found < 30 {
		t.Errorf("only %d log lines found in the server", found)
	}
}

// logged returns the constant messages of the log calls in a folder, without debug messages and tests.
func logged(t *testing.T, folder string) (messages []string) {
	calls(t, folder, func(call *ast.CallExpr) { messages = append(messages, message(call)...) })
	return messages
}

// calls passes each call in the Go files of a folder, without tests, to a function.
func calls(t *testing.T, folder string, each func(*ast.CallExpr)) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				each(call)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// message returns the text logged by a call to a slog method or to lograte's Warn.
func message(call *ast.CallExpr) []string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) < 2 {
		return nil
	}
	at := map[string][]int{"Info": {0}, "Warn": {0, 1}, "Error": {0}, "Log": {2}, "LogAttrs": {2}}[method.Sel.Name]
	for _, i := range at {
		if i >= len(call.Args) {
			continue
		}
		arg := call.Args[i]
		if sum, ok := arg.(*ast.BinaryExpr); ok { // the listener's name and constant text
			arg = sum.Y
		}
		if text, ok := arg.(*ast.BasicLit); ok && text.Kind == token.STRING {
			if m, err := strconv.Unquote(text.Value); err == nil {
				return []string{m}
			}
		}
	}
	return nil
}
