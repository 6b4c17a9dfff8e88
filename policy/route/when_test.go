package route

import (
	"net/http"
	"strings"
	"testing"
)

// TestWhenErrorsAreCounted covers conditions that use a missing header or cost too much to evaluate, which WhenErrors
// counts. The former are not met. The latter refuse the request, so that a client cannot leave the route by a long text
// (regression: bug 96).
func TestWhenErrorsAreCounted(t *testing.T) {
	table := New([]Route{
		{Match: Conditions{Path: must(ParsePath("/header")), When: must(CompileWhen(`request.headers["x-plan"] == "gold"`))}, Charges: constant},
		{Match: Conditions{Path: must(ParsePath("/long")), When: must(CompileWhen(`request.query["q"].matches("(a|b|c|d|e|f)+(a|b|c|d|e|f)+z$")`))}, Charges: constant},
	}, Proxies{})
	find := func(path, query, plan string) bool {
		r := Request{Path: path, Query: query, Header: http.Header{"X-Plan": {plan}}}
		if plan == "" {
			r.Header = nil
		}
		m, ok := table.Find(&r)
		if refused := m.NoKey != nil; refused != (len(query) > 1000) || refused && (m.NoKey.Status != 400 || !m.NoKey.Unreadable || m.Route == nil) {
			t.Errorf("%s: %+v", path, m.NoKey)
		}
		if e := table.Explain(&r, 10); (e.Match != nil) != ok || ok && (e.Match.NoKey == nil) != (m.NoKey == nil) {
			t.Errorf("%s: explained as %+v", path, e.Match)
		}
		return ok
	}
	for i, c := range []struct {
		path, query, plan string
		want              bool
		errors            uint64
	}{
		{"/header", "", "gold", true, 0},
		{"/header", "", "free", false, 0},
		{"/header", "", "", false, 2},
		{"/long", "q=abcz", "", true, 2},
		{"/long", "q=" + strings.Repeat("a", 1<<20) + "z", "", true, 4},
	} {
		if got := find(c.path, c.query, c.plan); got != c.want || table.WhenErrors() != c.errors {
			t.Errorf("%d: %t with %d errors, want %t with %d", i, got, table.WhenErrors(), c.want, c.errors)
		}
	}
}

// TestCostlyInAnyCase checks that a condition that costs too much refuses the request, also if it does not hold for the path
// in lower case.
func TestCostlyInAnyCase(t *testing.T) {
	when := must(CompileWhen(`request.path == "/X" && request.query["q"].matches("(a|b|c|d|e|f)+(a|b|c|d|e|f)+z$")`))
	table := New([]Route{{Match: Conditions{When: when}, Charges: constant}}, Proxies{})
	if m, ok := table.Find(&Request{Path: "/X", Query: "q=" + strings.Repeat("a", 1<<20) + "z", AnyCase: true}); !ok || m.NoKey == nil {
		t.Errorf("%+v, %t", m, ok)
	}
}

func BenchmarkWhen(b *testing.B) {
	table := New([]Route{{Match: Conditions{When: must(CompileWhen(`request.size < 1000 && request.headers["x-plan"] == "free"`))}, Charges: constant}}, Proxies{})
	r := Request{Path: "/", Header: http.Header{"X-Plan": {"free"}, "Accept": {"*/*"}, "User-Agent": {"x"}}}
	for b.Loop() {
		if _, ok := table.Find(&r); !ok {
			b.Fatal("no match")
		}
	}
}
