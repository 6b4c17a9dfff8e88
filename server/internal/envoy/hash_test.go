package envoy

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
	"github.com/headgate/headgate/policy/keyhash"
)

// TestHashedKeys checks that if there are secrets, no value from a request reaches the store or a statistic. Values
// from the configuration stay in the names of statistics. Answers do not change.
func TestHashedKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(path, []byte(strings.Repeat("s", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets, err := keyhash.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	const file = `
domain: d
descriptors:
  - {key: detailed, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: 1}}
  - {key: value, value_to_metric: true, rate_limit: {unit: day, requests_per_unit: 1}}
  - {key: plan, value: free, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: 1}}
`
	for _, semantics := range []Semantics{Original, Improved} {
		var keys []string
		limiter := headgate.New(headgate.WithCore(func(c *core.Config) {
			c.Observer = func(_ context.Context, op *engine.Op, _ *engine.Answer) {
				for c := range op.Charges {
					_, key := op.Subject(c)
					keys = append(keys, strings.Clone(key))
				}
			}
		}))
		s := New(Options{HashKeys: secrets, Semantics: semantics}, filelimit.New(policy.Empty(), limiter, filelimit.WithHashKeys(secrets)).Do)
		if _, err := s.Load([]File{{Name: "d.yaml", Data: []byte(file)}}); err != nil {
			t.Fatal(err)
		}
		descriptor := func(key, value string) *ratelimit.RateLimitDescriptor {
			return &ratelimit.RateLimitDescriptor{Entries: []*ratelimit.RateLimitDescriptor_Entry{{Key: key, Value: value}}}
		}
		own := descriptor("own", "ann@example.com")
		own.Limit = &ratelimit.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 1, Unit: 3}
		for _, want := range []pb.RateLimitResponse_Code{pb.RateLimitResponse_OK, pb.RateLimitResponse_OVER_LIMIT} {
			for _, d := range []*ratelimit.RateLimitDescriptor{descriptor("detailed", "ann@example.com"), descriptor("value", "ann@example.com"), descriptor("plan", "free"), own} {
				r, err := s.ShouldRateLimit(t.Context(), &pb.RateLimitRequest{Domain: "d", Descriptors: []*ratelimit.RateLimitDescriptor{d}})
				if err != nil || r.OverallCode != want {
					t.Errorf("%v: %v, %v, want %v", d, r, err, want)
				}
			}
		}
		if len(keys) < 8 {
			t.Errorf("%d keys", len(keys))
		}
		for _, key := range keys {
			if !keyhash.Is(key) {
				t.Errorf("the store got the key %q", key)
			}
		}
		hash, names := strings.ReplaceAll(secrets.Secrets().Of(0, "ann@example.com"), ":", "_"), ""
		for _, series := range s.Stats().Rules {
			names += series.Name + " "
		}
		for _, want := range []string{"d.detailed_" + hash, "d.value_" + hash, "d.own_" + hash, "d.plan_free"} {
			if !strings.Contains(names, want+" ") {
				t.Errorf("no %s in %s", want, names)
			}
		}
		if strings.Contains(names, "ann") {
			t.Errorf("a value of a request in %s", names)
		}
		_ = limiter.Close()
	}
}
