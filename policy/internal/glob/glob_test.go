package glob

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true},
		{"a", "ab", false},
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "anything", true},
		{"a*", "a", true},
		{"a*", "ba", false},
		{"*a", "ba", true},
		{"*a", "ab", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"a*a", "aba", true},
		{"*b*", "abc", true},
		{"*b*", "ac", false},
		{"a*b*c", "abc", true},
		{"a*b*c", "acbc", true},
		{"a*b*c", "acb", false},
		{"**", "x", true},
		{"a**b", "ab", true},
		{"*aa*a*", "aaa", true},
		{"*aa*aa*", "aaa", false},
		{"\xff*", "\xff\xfe", true},
	} {
		p := New(c.pattern)
		if got := p.Match(c.text); got != c.want {
			t.Errorf("%q matches %q: %t, want %t", c.pattern, c.text, got, c.want)
		}
	}
}

// linear returns the index of the longest pattern that matches the text, or -1. Among patterns of equal length, the
// first one wins. It tries each pattern in turn and is the reference for Set.
func linear(patterns []string, text string) (found int) {
	found = -1
	for i, pattern := range patterns {
		if p := New(pattern); p.Match(text) && (found < 0 || len(pattern) > len(patterns[found])) {
			found = i
		}
	}
	return found
}

// TestSetEqualsLinearSearch compares the set with a linear search. The random patterns and strings have few different
// letters, so that many of them match.
func TestSetEqualsLinearSearch(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(letters string, most int) string {
		var b strings.Builder
		for range random.IntN(most + 1) {
			b.WriteByte(letters[random.IntN(len(letters))])
		}
		return b.String()
	}
	found := 0
	for range 300 {
		var set Set[int]
		var patterns []string
		for range random.IntN(60) {
			if p := text("ab*", 7); set.Add(p, len(patterns)) {
				patterns = append(patterns, p)
			}
		}
		for range 60 {
			key := text("ab", 9)
			got, ok := set.Find(key)
			want := linear(patterns, key)
			if ok != (want >= 0) || ok && got != want {
				t.Fatalf("%q among %q: found %d (%t), want %d", key, patterns, got, ok, want)
			}
			if ok {
				found++
			}
		}
	}
	if found < 1000 {
		t.Errorf("%d texts matched, want at least 1000: the comparison is empty", found)
	}
}

func TestSetOrder(t *testing.T) {
	var set Set[string]
	for _, p := range []string{"a*", "b*", "longer*", "*"} {
		if !set.Add(p, p) {
			t.Errorf("%s is new", p)
		}
	}
	if set.Add("b*", "again") || set.Len() != 4 {
		t.Errorf("b* was added twice, %d patterns", set.Len())
	}
	var order []string
	set.Each(func(text, _ string) { order = append(order, text) })
	if got := strings.Join(order, " "); got != "longer* a* b* *" {
		t.Errorf("order %s", got)
	}
}

// BenchmarkFind shows that a search among ten thousand patterns takes as long as a search among ten, wherever their
// stars are.
func BenchmarkFind(b *testing.B) {
	for _, form := range []string{"tenant-%06d-*", "*-tenant-%06d", "*tenant-%06d*", "tenant-*-%06d"} {
		for _, patterns := range []int{10, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(form, "%06d", "N"), patterns), func(b *testing.B) {
				var set Set[int]
				for i := range patterns {
					set.Add(fmt.Sprintf(form, i), i)
				}
				hit := strings.ReplaceAll(fmt.Sprintf(form, 7), "*", "x")
				for b.Loop() {
					if _, ok := set.Find(hit); !ok {
						b.Fatal("not found")
					}
					if _, ok := set.Find("tenant-none-of-them"); ok {
						b.Fatal("found")
					}
				}
			})
		}
	}
}
