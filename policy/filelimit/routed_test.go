package filelimit_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
	"github.com/headgate/headgate/policy/keyhash"
)

const chargedTwice = `
policies:
  per-ip: {algorithm: fixed-window, limit: 3, window: 1d, align: UTC}
  plan:   {algorithm: fixed-window, limit: 10, window: 1d, align: UTC}
overrides:
  - {policy: plan, key: trial, set: {limit: 2}}
  - {policy: plan, key: "192.0.2.1", deny: true}
  - {policy: per-ip, key: "10.9.9.9", unlimited: true}
routes:
  - match: {path: /v1}
    charge: [{policy: per-ip, key: [{header: X-IP}]}, {policy: plan, key: [{header: X-Key}], cost: {header: X-Cost, max: 9}}]
    empty_key_status: 401
  - match: {path: /twice}
    charge: [{policy: per-ip, key: [{header: X-IP}]}, {policy: per-ip, key: [{header: X-Key}], cost: 2}]
`

// TestRouteOfSeveralCharges checks that a request is charged under all its keys, each at its own cost, or under none.
// Overrides apply to the key of their charge. With hashed keys the responses are the same.
func TestRouteOfSeveralCharges(t *testing.T) {
	config, err := policy.Parse("x.yaml", []byte(chargedTwice))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(strings.Repeat("s", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets, err := keyhash.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string][]filelimit.Option{"keys": nil, "hashes": {filelimit.WithHashKeys(secrets)}} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]bool{}
			limiter := headgate.New(headgate.WithCore(func(c *core.Config) {
				c.Observer = func(_ context.Context, op *engine.Op, _ *engine.Answer) {
					for i := range op.Charges {
						_, key := op.Subject(i)
						seen[key] = true
					}
				}
			}))
			defer limiter.Close()
			h := httplimit.By(filelimit.New(config, limiter, options...))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			for i, c := range []struct {
				path, ip, key, cost string
				status              int
				want                string // a part of the RateLimit header, or of the body if there is no such header
			}{
				{"/v1", "a", "acme", "4", 200, `"per-ip";r=2, "plan";r=6`},
				{"/v1", "b", "acme", "4", 200, `"per-ip";r=2, "plan";r=2`},
				{"/v1", "a", "acme", "4", 429, `"plan";r=2, "per-ip";r=2`}, // per-ip is not charged
				{"/v1", "a", "trial", "", 200, `"per-ip";r=1, "plan";r=1`},
				{"/v1", "10.9.9.9", "10.9.9.9", "9", 200, `"plan";r=1`},
				{"/v1", "10.9.9.9", "192.0.2.1", "", 429, `"violated-policies":["plan"]`},
				{"/v1", "192.0.2.1", "solo", "", 200, `"per-ip";r=2, "plan";r=9`}, // the deny override is for this key under plan, not under per-ip
				{"/v1", "a", "", "", 401, "header X-Key, for the policy plan"},
				{"/v1", "", "acme", "", 401, "header X-IP, for the policy per-ip"},
				{"/twice", "c", "d", "", 200, `"per-ip";r=1, "per-ip";r=2`},
				{"/twice", "e", "e", "", 200, `"per-ip";r=0`}, // the same key twice: 1 + 2 = 3 units
				{"/twice", "e", "f", "", 429, `"per-ip";r=0, "per-ip";r=3`},
			} {
				r, w := httptest.NewRequest(http.MethodGet, c.path, http.NoBody), httptest.NewRecorder()
				for header, value := range map[string]string{"X-IP": c.ip, "X-Key": c.key, "X-Cost": c.cost} {
					r.Header.Set(header, value)
				}
				h.ServeHTTP(w, r)
				got := w.Body.String()
				if limits := w.Header().Get("Ratelimit"); limits != "" {
					got = withoutTimes(limits)
				}
				if w.Code != c.status || !strings.Contains(got, c.want) {
					t.Errorf("request %d: %d %s, want %d %s", i, w.Code, got, c.status, c.want)
				}
			}
			for key := range seen {
				if keyhash.Is(key) != (options != nil) {
					t.Errorf("counted under %s", key)
				}
			}
		})
	}
}

// withoutTimes removes the times from a RateLimit header.
func withoutTimes(header string) string {
	var limits []string
	for limit := range strings.SplitSeq(header, ", ") {
		limit, _, _ = strings.Cut(limit, ";t=")
		limits = append(limits, limit)
	}
	return strings.Join(limits, ", ")
}

// TestFinalCostOfSeveralKeys checks that the final cost corrects each of a request's charges under the charge's own
// key.
func TestFinalCostOfSeveralKeys(t *testing.T) {
	five := func(*http.Request, httplimit.Response) int64 { return 5 }
	for _, c := range []struct {
		name, answer string
		rule         httplimit.FinalCost
		user, from   string
	}{
		{"a failure", "401,0", httplimit.OnlyFailures, "minute 1, small 0, bytes 0", "minute 0, small 3, bytes 0"},
		{"not a failure", "200,0", httplimit.OnlyFailures, "minute 0, small 0, bytes 0", "minute 0, small 0, bytes 0"},
		{"more", "200,0", five, "minute 5, small 0, bytes 0", "minute 0, small 5, bytes 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSettling(t, c.rule)
			s.get("/sign-in?"+c.answer+"&from=home", "ann")
			for user, want := range map[string]string{"ann": c.user, "home": c.from} {
				if got := s.spent(t, user, "minute", "small", "bytes"); got != want {
					t.Errorf("%s has spent %s; want %s", user, got, want)
				}
			}
		})
	}
}
