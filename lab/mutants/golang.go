package main

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// goWords splits Go source, or a part of it, into words. A line end that ends a statement becomes a semicolon. Commas
// and semicolons before a closing bracket are omitted, because they depend on the layout.
func goWords(source string) []word {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, []byte(source), func(token.Position, string) {}, 0)
	var words []word
	for {
		pos, kind, text := s.Scan()
		last := len(words) - 1
		if kind == token.EOF {
			if last >= 0 && words[last].text == ";" && words[last].end == words[last].at {
				words = words[:last] // the end of the text does not end a statement
			}
			return joined(words)
		}
		at := file.Offset(pos)
		w := word{text: text, at: at, end: at + len(text), name: kind == token.IDENT}
		switch {
		case kind == token.SEMICOLON && text == "\n":
			w.text, w.end = ";", at
		case text == "":
			w.text, w.end = kind.String(), at+len(kind.String())
		}
		if last >= 0 && slices.Contains(closing, w.text) && (words[last].text == "," || words[last].text == ";") {
			words = words[:last]
		}
		words = append(words, w)
	}
}

var closing = []string{")", "]", "}"}

// goScopes returns the function bodies in a package by name, excluding tests.
func goScopes(dir string) (scopes []scope, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, path, data, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		source, words := string(data), goWords(string(data))
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				from, to := set.Position(f.Body.Lbrace).Offset+1, set.Position(f.Body.Rbrace).Offset
				scopes = append(scopes, scope{
					name: goName(f), file: path, source: source, words: between(words, from, to),
					from: from, to: to, returns: f.Type.Results.NumFields() > 0,
				})
			}
		}
	}
	return scopes, nil
}

// goName returns the function's name with the type of its receiver, as in Store.Do.
func goName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	for {
		switch t := receiver.(type) {
		case *ast.StarExpr:
			receiver = t.X
		case *ast.IndexExpr:
			receiver = t.X
		case *ast.IndexListExpr:
			receiver = t.X
		case *ast.Ident:
			return t.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}
