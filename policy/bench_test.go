package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate/headgate/policy"
)

// large returns a policies file with n + 1 policies, n overrides of exact keys, n overrides of patterns and n routes.
func large(n int) []byte {
	var b strings.Builder
	b.WriteString("policies:\n  api: {algorithm: token-bucket, rate: 100/s}\n")
	for i := range n {
		fmt.Fprintf(&b, "  p%d: {algorithm: token-bucket, rate: 100/s, burst: 200}\n", i)
	}
	b.WriteString("overrides:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {policy: api, key: \"user-%06d\", set: {rate: %d/s}}\n", i, i+1)
		fmt.Fprintf(&b, "  - {policy: api, key: \"tenant-%06d-*\", set: {rate: %d/s}}\n", i, i+1)
	}
	b.WriteString("routes:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {match: {path: \"/v1/r%d/{id}\"}, key: [{path: id}], policies: [p%d]}\n", i, i)
	}
	return []byte(b.String())
}

// BenchmarkCharges shows that looking up the limits of a key takes as long with ten overrides as with ten thousand, for
// an exact key, a pattern and a key without an override.
func BenchmarkCharges(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		config, err := policy.Parse("large.yaml", large(n))
		if err != nil {
			b.Fatal(err)
		}
		p, _ := config.Policies.Get("api")
		for _, key := range []string{"user-000005", "tenant-000005-joe", "nobody-of-these"} {
			b.Run(fmt.Sprintf("%s/%d", key, n), func(b *testing.B) {
				var charges []policy.Charge
				for b.Loop() {
					charges = p.Charges(charges[:0], key, 1)
				}
			})
		}
	}
}

// BenchmarkParse reads files of different sizes, each with equal numbers of policies, exact keys, patterns and routes.
func BenchmarkParse(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		file := large(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				if _, err := policy.Parse("large.yaml", file); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
