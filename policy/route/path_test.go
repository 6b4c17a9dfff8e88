package route

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// naiveMatch reports whether a pattern matches a path. It compares their segments one by one and is the reference for
// FuzzPath.
func naiveMatch(pattern, path string) bool {
	want, got := segmentsOf(pattern), segmentsOf(NormalPath(path))
	if n := len(want); n > 0 && want[n-1] == "**" {
		want = want[:n-1]
		got = got[:min(len(got), len(want))]
	}
	return slices.EqualFunc(want, got, func(want, got string) bool {
		return want == "*" || strings.HasPrefix(want, "{") || encode(decode(want)) == got
	})
}

func segmentsOf(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" })
}

// FuzzPath checks that a pattern matches exactly when the naive matcher does, both alone and in a table. Normalizing a
// normal path must not change it, and extra slashes and dots must not matter.
func FuzzPath(f *testing.F) {
	for _, path := range []string{"/", "", "/api/x", "//api/./x/", "/a/../b", "/%61%2Fb/%25", "/%zz/100%", "/..%2f..", "/.hidden/...", "a/b"} {
		f.Add("/api/{id}/**", path)
		f.Add("/a/*", path)
		f.Add("/", path)
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		normal := NormalPath(path)
		if again := NormalPath(normal); again != normal || !strings.HasPrefix(normal, "/") {
			t.Fatalf("%q has the normal form %q, and that %q", path, normal, again)
		}
		if doubled := NormalPath(strings.ReplaceAll("/"+path, "/", "/.//") + "/."); doubled != NormalPath("/"+path) {
			t.Fatalf("%q becomes %q with more slashes, %q without", path, doubled, normal)
		}
		p, err := ParsePath(pattern)
		if err != nil {
			return
		}
		want := naiveMatch(pattern, path)
		if got := p.match(normal); got != want {
			t.Fatalf("%q matches %q: %t, want %t", pattern, normal, got, want)
		}
		table := New([]Route{{Match: Conditions{Path: p}, Charges: constant}}, Proxies{})
		if _, got := table.Find(&Request{Path: path}); got != want {
			t.Fatalf("a table with %q finds %q: %t, want %t", pattern, path, got, want)
		}
	})
}

// TestCheckSegments covers paths that routers and routes read differently (regression: bugs 99, 226).
func TestCheckSegments(t *testing.T) {
	for path, ok := range map[string]bool{
		"": true, "/": true, "*": true, "/a/": true, "/a.b/...": true, "/..a": true, "/.well-known/x": true, "/a%2fb": true, "/%zz": true, "/100%": true,
		"//": false, "/a//b": false, "//a": false, "/a//": false, "/.": false, "/..": false, "/a/../b": false, "/a/./b": false, "/a/%2e%2E/b": false, "/a/.%2e": false, "/a%2f..%2fb": false,
		`/a/..\b`: false, "/a%5c..": false, "/..;x/b": false, "/%252e%252e/b": false, "/a/..%3bx": false, "/%2e": false, "/%25252E/b": false, "/a%20b.c/.d": true, "/a;x/b;": true, "/a%3b;x": true,
		"/;x": false, "/search/;a": false, "/search/%3ba": false, `/search\;a`: false, "/a%2F;x": false, "/search/%253Ba": false,
	} {
		r := Request{Method: http.MethodOptions, Path: path}
		if err := cmp.Or(r.Check(), CheckEmptySegments(path)); (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
	}
	if n := testing.AllocsPerRun(100, func() { _ = checkSegments("/a%20b/%E4%B8%AD") }); n > 0 {
		t.Errorf("%v allocations for a path without dots", n)
	}
}

// TestPathsOfOtherParsers covers paths that parsers of URLs read differently than routes (regression: bug 253).
func TestPathsOfOtherParsers(t *testing.T) {
	table := func(c Conditions) *Table { return New([]Route{{Match: c, Charges: constant}}, Proxies{}) }
	login := table(Conditions{Path: must(ParsePath("/login"))})
	when := table(Conditions{When: must(CompileWhen(`request.path == "/login"`))})
	any := table(Conditions{Methods: []string{"GET"}})
	for _, c := range []struct {
		table *Table
		path  string
		ok    bool
	}{
		{login, "//x/login", false},
		{login, "///x/login", false},
		{when, "//x/login", false},
		{login, "//", false},
		{any, "//x/login", true},
		{nil, "//x/login", true},
		{login, "/x//login", true},
		{login, "/%2Fx/login", true},
		{login, "", true},
		{any, `/\login`, false},
		{nil, `/x\login`, false},
		{any, "/login x", false},
		{login, "/x%5Clogin", true},
		{login, "/login%20x", true},
	} {
		if err := c.table.Check(&Request{Method: "GET", Path: c.path}); (err == nil) != c.ok {
			t.Errorf("%q: %v", c.path, err)
		}
	}
}

// TestAnyCase checks that literal segments and conditions match in any case if the server's paths do, and that the key
// keeps its case.
func TestAnyCase(t *testing.T) {
	table := New([]Route{
		{Match: Conditions{Path: must(ParsePath("/accounts/{account}/sign-in"))}, Charges: []Charge{{Key: []Part{{From: FromPath, Name: "account"}}}}},
		{Match: Conditions{Path: must(ParsePath("/API/v1"))}, Charges: constant},
		{Match: Conditions{Path: must(ParsePath("/api/**"))}, Charges: constant},
		{Match: Conditions{When: must(CompileWhen(`request.path.startsWith("/login")`))}, Charges: constant},
	}, Proxies{})
	for _, c := range []struct {
		path    string
		anyCase bool
		want    int
		key     string
	}{
		{"/Accounts/Ann/SIGN-IN/", true, 0, "Ann"},
		{"/accounts/Ann/sign-in", true, 0, "Ann"},
		{"/Accounts/Ann/sign-in", false, -1, ""},
		{"/api/v1", true, 1, "all"},
		{"/API/V1", true, 1, "all"},
		{"/Api/x", true, 2, "all"},
		{"/api/v1", false, 2, "all"},
		{"/API/v1", false, 1, "all"},
		{"/LOGIN/x", true, 3, "all"},
		{"/LOGIN/x", false, -1, ""},
	} {
		m, ok := table.Find(&Request{Path: c.path, AnyCase: c.anyCase})
		if ok != (c.want >= 0) || ok && (m.Index != c.want || m.Items[0].Key != c.key) {
			t.Errorf("%s in any case %t: %+v, want route %d with %q", c.path, c.anyCase, m, c.want, c.key)
		}
	}
}
