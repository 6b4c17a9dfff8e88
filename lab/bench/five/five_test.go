package five

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/redistest"
)

func TestCalls(t *testing.T) {
	for name, calls := range map[string]func() bool{"headgate": headgateCalls(), "x/time": xtimeCalls()} {
		passed := 0
		for range 25 {
			if calls() {
				passed++
			}
		}
		if passed < 20 || passed > 21 { // on a slow machine, a unit can refill
			t.Errorf("%s: %d of 25 calls pass, want 20", name, passed)
		}
	}
}

func TestUsers(t *testing.T) {
	for name, users := range map[string]func(string) bool{"headgate": headgateUsers(), "x/time": xtimeUsers(), "ulule": ululeUsers()} {
		got := ""
		for _, user := range []string{"a", "a", "a", "a", "a", "a", "b"} {
			got += fmt.Sprint(users(user), " ")
		}
		if got != "true true true true true false true " {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestServer(t *testing.T) {
	hello := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for name, server := range map[string]http.Handler{"headgate": headgateServer(hello), "ulule": ululeServer(hello), "httprate": httprateServer(hello)} {
		last := 0
		for range 61 {
			w := httptest.NewRecorder()
			server.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			last = w.Code
		}
		if last != http.StatusTooManyRequests {
			t.Errorf("%s answers %d to request 61", name, last)
		}
	}
}

func TestWorker(t *testing.T) {
	for name, worker := range map[string]func(context.Context) error{"headgate": headgateWorker(), "x/time": xtimeWorker()} {
		start := time.Now()
		for range 3 {
			if err := worker(t.Context()); err != nil {
				t.Fatal(name, err)
			}
		}
		if took := time.Since(start); took < 190*time.Millisecond {
			t.Errorf("%s: three turns took %s, want 200 ms", name, took)
		}
	}
}

func TestShared(t *testing.T) {
	for name, open := range map[string]func(context.Context, string) (func(context.Context, string) (bool, error), error){
		"headgate": headgateShared, "ulule": ululeShared, "redis_rate": redisrateShared,
	} {
		address := redistest.Standalone(t, redistest.Redis).Addr()
		if name == "headgate" {
			address += "?deadline=10s" // by default 50 ms, within which a busy machine may not answer
		}
		users, err := open(t.Context(), address)
		if err != nil {
			t.Fatal(name, err)
		}
		for i := range 6 {
			if passes, err := users(t.Context(), "a"); err != nil || passes != (i < 5) {
				t.Errorf("%s: request %d: %t, %v", name, i, passes, err)
			}
		}
	}
}

// TestTable compares the table with the programs: the number of lines between a function's braces, and the names from
// the limiter and its helpers that the function uses.
func TestTable(t *testing.T) {
	page, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"headgate.go", "xtime.go", "ulule.go", "redisrate.go", "httprate.go"}
	for _, program := range []string{"calls", "users", "server", "worker", "shared"} {
		row := "| " + program + " |"
		for _, file := range files {
			row += cell(t, file, program) + "|"
		}
		if !strings.Contains(string(page), row+"\n") {
			t.Errorf("doc.go lacks the row\n%s", row)
		}
	}
}

func cell(t *testing.T, file, program string) string {
	t.Helper()
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || !strings.HasSuffix(strings.ToLower(f.Name.Name), program) {
			continue
		}
		names := map[string]bool{}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && !standard[root(s)] {
				names[s.Sel.Name] = true
			}
			return true
		})
		return fmt.Sprintf(" %d, %d ", fset.Position(f.Body.Rbrace).Line-fset.Position(f.Body.Lbrace).Line-1, len(names))
	}
	return " – "
}

// standard contains the names of packages in the standard library, and of variables of their types.
var standard = map[string]bool{"context": true, "time": true, "sync": true, "http": true, "mu": true}

func root(s *ast.SelectorExpr) string {
	for x := s.X; ; {
		switch at := x.(type) {
		case *ast.Ident:
			return at.Name
		case *ast.SelectorExpr:
			x = at.X
		case *ast.CallExpr:
			x = at.Fun
		case *ast.IndexExpr:
			x = at.X
		default:
			return ""
		}
	}
}
