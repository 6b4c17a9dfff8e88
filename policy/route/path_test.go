package route

import (
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
