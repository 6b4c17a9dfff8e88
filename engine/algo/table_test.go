package algo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// compares lists the files that may compare a value with an algorithm, or switch on one.
var compares = map[string]string{
	"engine/algo/fastpath.go": "the hot path: BenchmarkFastPath decides in a ninth of the time of BenchmarkAllow",
	"engine/algo/words.go":    "the hot path: the memory store reads and writes nearly every state so, 3 % slower through the table",
	"engine/algo/bucket.go":   "the bucket is the state of a pacer too, whose Queue is no debt",
}

// names lists the other files that may name an algorithm.
var names = map[string]string{
	"bucket.go":                      "a limit of each bucket",
	"window.go":                      "a limit of each window",
	"fair.go":                        "a limit of each fair share",
	"concurrency.go":                 "a limit of permits",
	"penalty.go":                     "a limit for those that ignore denials",
	"limit.go":                       "the limits without fields",
	"internal/rule/rule.go":          "a function for each",
	"engine/build.go":                "a builder for each",
	"engine/text.go":                 "the algorithm of a text without one",
	"redisstore/families.go":         "a fragment for each",
	"layer/fallback/contact.go":      "a limit of its own",
	"memstore/settle.go":             "a limit of its own",
	"memstore/returned.go":           "a limit of its own",
	"policy/rates.go":                "a window by itself, whatever its algorithm makes of several",
	"server/internal/envoy/limit.go": "the algorithms that a rule of Envoy's files can name",
}

// tests lists the directories that TestNoSwitchOverAlgorithms skips: they contain no shipped code.
var tests = []string{".git", "examples", "lab", "storetest", "testdata", "tools", "node_modules"}

// TestNoSwitchOverAlgorithms checks that shipped code outside the table uses an algorithm's properties, so
// that a new algorithm needs no cases elsewhere.
func TestNoSwitchOverAlgorithms(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(tests, d.Name()) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := filepath.Rel("../..", path)
		if err != nil {
			return err
		}
		file = filepath.ToSlash(file)
		for _, u := range uses(t, path, strings.HasPrefix(file, "engine/algo/")) {
			switch {
			case u.compared && compares[file] != "", !u.compared && names[file] != "":
				used[file] = true
			case u.compared:
				t.Errorf("%s:%d: ask %s for a property of package algo, or list the file with the reason", file, u.line, u.name)
			case !strings.HasPrefix(file, "engine/algo/"):
				t.Errorf("%s:%d: names %s: list the file with the reason, or ask for a property", file, u.line, u.name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range []map[string]string{compares, names} {
		for file := range list {
			if !used[file] {
				t.Errorf("%s is listed, and has no use of an algorithm", file)
			}
		}
	}
}

// use describes a place in the code that names an algorithm.
type use struct {
	name     string
	line     int
	compared bool // in a comparison or a case
}

// uses returns the places where a file names an algorithm, with or without the package name.
func uses(t *testing.T, path string, inside bool) (all []use) {
	t.Helper()
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[token.Pos]bool{} // a comparison is visited before its operands
	add := func(compared bool, list ...ast.Expr) {
		for _, e := range list {
			if name := algorithm(e, inside); name != "" && !seen[e.Pos()] {
				seen[e.Pos()] = true
				all = append(all, use{name, set.Position(e.Pos()).Line, compared})
			}
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CaseClause:
			add(true, n.List...)
		case *ast.BinaryExpr:
			add(true, n.X, n.Y)
		case *ast.SelectorExpr:
			add(false, n)
		}
		return true
	})
	return all
}

// algorithm returns the name of the algorithm in an expression. It returns "" if none exists.
func algorithm(e ast.Expr, inside bool) string {
	id, _ := e.(*ast.Ident)
	if s, ok := e.(*ast.SelectorExpr); ok && !inside {
		if from, ok := s.X.(*ast.Ident); ok && from.Name == "algo" {
			id = s.Sel
		}
	} else if !inside {
		return ""
	}
	if id == nil || !slices.Contains(constants, id.Name) {
		return ""
	}
	return id.Name
}

// constants returns the Go names of the algorithms.
var constants = func() (found []string) {
	tree, err := parser.ParseFile(token.NewFileSet(), "table.go", nil, parser.SkipObjectResolution)
	if err != nil {
		panic(err)
	}
	for _, d := range tree.Decls {
		if list, ok := d.(*ast.GenDecl); ok && list.Tok == token.CONST {
			for _, s := range list.Specs {
				found = append(found, s.(*ast.ValueSpec).Names[0].Name)
			}
		}
	}
	return found[1 : len(found)-1] // without None and the count
}()

// TestTableIsWhole checks that all algorithms have different names, and that the engine knows every field of each.
func TestTableIsWhole(t *testing.T) {
	all := algo.Algorithms()
	if len(all) != len(constants) {
		t.Fatalf("the table has %d algorithms, and %d are declared", len(all), len(constants))
	}
	seen := map[string]algo.Algorithm{}
	for _, a := range all {
		for _, name := range a.Names() {
			if other, twice := seen[name]; twice {
				t.Errorf("%s and %s have the name %s", a, other, name)
			}
			seen[name] = a
		}
		for _, field := range a.Fields() {
			if !slices.ContainsFunc(slices.Collect(engine.Fields()), func(f engine.Field) bool { return f.Name == field }) {
				t.Errorf("%s has the field %s, which no limit has", a, field)
			}
		}
		if unknown := algo.Algorithm(len(all) + 1); unknown.String() != "unknown" || unknown.Constant() {
			t.Errorf("a number that is no algorithm is %s", unknown)
		}
	}
}
