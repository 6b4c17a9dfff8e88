package main

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// otherwise lists flags whose variables cannot have their name, with the reason.
var otherwise = map[string]string{
	"for": "a keyword of Go",
}

// TestFlagsAreCalledAsTheirFields checks that the variable of a flag has words of the flag's name: tokenFile for
// --admin-token-file, in a struct for the admin listener. The fields of package daemon have names of their own.
func TestFlagsAreCalledAsTheirFields(t *testing.T) {
	found := 0
	calls(t, "../../server/cmd", func(call *ast.CallExpr) {
		field, flag := flagOf(call)
		if flag == "" || otherwise[flag] != "" {
			return
		}
		found++
		if ast.IsExported(field) {
			return
		}
		words := strings.Split(flag, "-")
		for _, word := range wordsOf(field) {
			if !slices.Contains(words, word) && !slices.Contains(words, strings.TrimSuffix(word, "s")) {
				t.Errorf("--%s sets %s: name the variable as the flag", flag, field)
				break
			}
		}
	})
	if found < 100 {
		t.Errorf("only %d flags found", found)
	}
}

// flagOf returns the variable's last name and the flag's name of a call such as StringVar(&f.grpc, "grpc", …).
func flagOf(call *ast.CallExpr) (field, flag string) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) < 3 || !strings.HasSuffix(strings.TrimSuffix(method.Sel.Name, "P"), "Var") {
		return "", ""
	}
	address, ok := call.Args[0].(*ast.UnaryExpr)
	name, ok2 := call.Args[1].(*ast.BasicLit)
	if !ok || !ok2 {
		return "", ""
	}
	switch v := address.X.(type) {
	case *ast.SelectorExpr:
		field = v.Sel.Name
	case *ast.Ident:
		field = v.Name
	}
	flag, _ = strconv.Unquote(name.Value)
	return field, flag
}

// wordsOf returns the words of a Go name in lower case: max, p99 for maxP99.
func wordsOf(name string) (words []string) {
	from := 0
	for i := 1; i <= len(name); i++ {
		if i == len(name) || name[i] >= 'A' && name[i] <= 'Z' && (name[i-1] < 'A' || name[i-1] > 'Z') {
			words = append(words, strings.ToLower(name[from:i]))
			from = i
		}
	}
	return words
}
