package envoy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
)

// globbed reports whether a pattern matches, using a slow but obvious algorithm.
func globbed(pattern, text string) bool {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	if !strings.HasPrefix(text, before) {
		return false
	}
	for i := len(before); i <= len(text); i++ {
		if globbed(after, text[i:]) {
			return true
		}
	}
	return false
}

// TestWildcardIndex checks that the index finds the same first matching pattern as a linear search.
func TestWildcardIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func(letters string, most int) string {
		b := make([]byte, r.IntN(most+1))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	found := 0
	for range 2000 {
		var w wildcards
		var patterns []string
		descriptors := map[*descriptor]string{}
		for range 1 + r.IntN(12) {
			p := word("ab*", 4) + "*" + word("ab*", 3)
			d := &descriptor{}
			patterns, descriptors[d] = append(patterns, p), p
			w.add(p, d)
		}
		for range 20 {
			text, want := word("ab", 6), ""
			for _, p := range patterns {
				if globbed(p, text) {
					want = p
					found++
					break
				}
			}
			if got := descriptors[w.find([]byte(text))]; got != want {
				t.Fatalf("%q in %q: got %q, want %q", text, patterns, got, want)
			}
		}
	}
	if found < 10_000 {
		t.Errorf("only %d of 40000 texts matched a pattern", found)
	}
}

func keyOf(entries ...string) string {
	k := keyWriter{buffer: []byte("before"), from: 6}
	for i := 0; i < len(entries); i += 2 {
		k.entry(entries[i], entries[i+1])
	}
	return string(k.end()[6:])
}

// TestKeysDiffer checks that different entries have different keys, whatever their bytes are, and that no key is too
// long for a store.
func TestKeysDiffer(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	seen := map[string]string{}
	check := func(entries ...string) {
		t.Helper()
		key, text := keyOf(entries...), fmt.Sprintf("%q", entries)
		if other, ok := seen[key]; ok && other != text {
			t.Fatalf("%s and %s have the key %q", other, text, key)
		}
		if len(key) > engine.MaxKeyBytes || key == "" {
			t.Fatalf("%d bytes", len(key))
		}
		seen[key] = text
	}
	for range 50_000 {
		var entries []string
		for range 2 * (1 + r.IntN(3)) {
			b := make([]byte, r.IntN(4))
			for i := range b {
				b[i] = `a,=\`[r.IntN(4)]
			}
			entries = append(entries, string(b))
		}
		check(entries...)
	}
	long := strings.Repeat("x", 5000)
	check("k", long)
	check("k", long+"y")
	check("k", long[:1021]) // 1023 bytes, which is short enough
	check("k", long[:1022])
	check("k", long[:1023])
	check("k", keyOf("k", long)[2:])                   // a value equal to the shortened key
	for _, path := range []string{long, long[:1022]} { // the user stays, for overrides with a pattern (regression: bug 236)
		if key := keyOf("user", "7", "path", path); key != "user=7,path="+core.Hash(path) {
			t.Errorf("%q", key)
		}
	}
	if keyOf("user", "7", "path", "/a=b") != `user=7,path=/a\=b` {
		t.Errorf("%s", keyOf("user", "7", "path", "/a=b"))
	}
}

// TestDomainsAndRulesShareNoCounter covers the same value under two keys and in two domains, and two entries, a=b_c and
// a_b=c, that are equal if the key and the value are joined by an underscore.
func TestDomainsAndRulesShareNoCounter(t *testing.T) {
	f := serving(t, Options{}, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 9}}, {key: a_b, rate_limit: {unit: day, requests_per_unit: 9}}]")
	_, err := f.Load([]File{
		{Name: "d", Data: []byte("domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 9}}, {key: a_b, rate_limit: {unit: day, requests_per_unit: 9}}]")},
		{Name: "e", Data: []byte("domain: e\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 9}}]")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, entries := range []string{"a=b_c", "a_b=c", "a=c"} {
		f.want("OK: OK 8/9 86400s", entries)
	}
	response, err := f.ShouldRateLimit(t.Context(), &pb.RateLimitRequest{Domain: "e", Descriptors: allDescribed(t, "a=c")})
	if err != nil || response.Statuses[0].LimitRemaining != 8 {
		t.Errorf("%v, %v", response, err)
	}
}

// many returns a file with n rules: half for exact values, and half for wildcards.
func many(n int) string {
	var b strings.Builder
	b.WriteString("domain: d\ndescriptors:\n")
	for i := range n / 2 {
		fmt.Fprintf(&b, "  - {key: user, value: u%d, rate_limit: {unit: day, requests_per_unit: 4000000000}}\n", i)
		fmt.Fprintf(&b, "  - {key: path, value: \"/p%d/*/x\", rate_limit: {unit: day, requests_per_unit: 4000000000}}\n", i)
	}
	return b.String()
}

// BenchmarkDecision measures a decision in memory, by number of descriptors in the configuration.
func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			limiter := headgate.New()
			defer limiter.Close()
			s := New(Options{}, filelimit.New(policy.Empty(), limiter).Do)
			if _, err := s.Load([]File{{Name: "f", Data: []byte(many(n))}}); err != nil {
				b.Fatal(err)
			}
			requests := make([]*pb.RateLimitRequest, 1000)
			for i := range requests {
				requests[i] = &pb.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{
					{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: "user", Value: fmt.Sprintf("u%d", i*7919%(n/2))}}},
					{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: "path", Value: fmt.Sprintf("/p%d/q/x", i*7919%(n/2))}}},
				}}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := s.ShouldRateLimit(b.Context(), requests[i%len(requests)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
