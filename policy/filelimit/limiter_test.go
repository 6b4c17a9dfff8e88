package filelimit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/filelimit"
	"github.com/headgate/headgate/storetest"
)

const bound = `
policies:
  user:  {algorithm: fixed-window, limit: 3, window: 1h}
  total: {all: [user, {name: all, algorithm: fixed-window, limit: 4, window: 1h}]}
  quiet: {algorithm: fixed-window, limit: 1, window: 1h, shadow: true}
  trial: {algorithm: fixed-window, limit: 9, window: 1h, cost: 2, shadow: {algorithm: fixed-window, limit: 1, window: 1h}}
  off:   {algorithm: fixed-window, limit: 1, window: 1h, enabled: false}
overrides:
  - {policy: user, key: vip, set: {limit: 30}}
routes:
  - {match: {path: /both}, key: [{header: X-User}], policies: [user, total, quiet, off]}
  - {match: {path: /skip}, key: [{header: X-User}], empty_key: skip, policies: [user]}
  - {match: {path: /skip}, key: [{const: anybody}], policies: [quiet]}
  - {match: {path: /cost}, key: [{const: cost}], cost: 3, policies: [user]}
`

func boundLimiter(t *testing.T, options ...headgate.Option) (*filelimit.Limiter, *headgate.Limiter) {
	t.Helper()
	config, err := policy.Parse("bound.yaml", []byte(bound))
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New(options...)
	t.Cleanup(func() { _ = limiter.Close() })
	return filelimit.New(config, limiter), limiter
}

// TestBoundPoliciesShareCounters checks that a policy decides with its overrides, and uses the same counter by itself,
// under the "all" of another policy, and as a headgate.Policy with its name.
func TestBoundPoliciesShareCounters(t *testing.T) {
	ctx := t.Context()
	for _, options := range [][]headgate.Option{nil, {headgate.WithSpace("own")}} {
		l, limiter := boundLimiter(t, options...)
		if d, err := l.Allow(ctx, "total", "k"); err != nil || !d.Allowed || d.Remaining != 2 || d.Binding.Policy != "user" || len(d.Limits) != 2 {
			t.Errorf("total: %+v, %v", d, err)
		}
		if d, err := l.AllowN(ctx, "user", "k", 2); err != nil || d.Remaining != 0 {
			t.Errorf("user: %+v, %v", d, err)
		}
		if d, err := limiter.PolicyOf("user", rule.FixedWindow(rule.PerHour(3))).Allow(ctx, "k"); err != nil || d.Allowed {
			t.Errorf("the policy in Go: %+v, %v", d, err)
		}
		if d, err := l.Allow(ctx, "user", "vip"); err != nil || d.Limit != 30 {
			t.Errorf("vip: %+v, %v", d, err)
		}
	}
}

// TestBoundShadowsAndCandidates checks that neither shadows nor candidates deny, and that a candidate counts
// separately from the policy's own limit.
func TestBoundShadowsAndCandidates(t *testing.T) {
	var shadows []string
	l, _ := boundLimiter(t, headgate.WithCore(func(c *core.Config) { c.Observer = headgateObserver(&shadows) }))
	for range 3 {
		if d, err := l.Allow(t.Context(), "quiet", "k"); err != nil || !d.Allowed || d.Granted != 1 {
			t.Errorf("quiet: %+v, %v", d, err)
		}
	}
	if d, err := l.Allow(t.Context(), "trial", "k"); err != nil || !d.Allowed || d.Remaining != 7 || d.Limits != nil {
		t.Errorf("trial: %+v, %v", d, err)
	}
	if d, err := l.Allow(t.Context(), "off", "k"); err != nil || !d.Unlimited {
		t.Errorf("off: %+v, %v", d, err)
	}
	want := "policy:quiet true,policy:quiet false,policy:quiet false,policy:trial true,policy:trial:shadow false,policy:off true"
	if got := strings.Join(shadows, ","); got != want {
		t.Errorf("decided %s\nwant %s", got, want)
	}
}

func TestBoundVerbs(t *testing.T) {
	l, _ := boundLimiter(t)
	ctx := t.Context()
	if d, err := l.AllowN(ctx, "trial", "k", 3); err != nil || d.Remaining != 6 {
		t.Errorf("allow: %+v, %v", d, err)
	}
	if d, err := l.Peek(ctx, "trial", "k", 7); err != nil || d.Allowed || d.Remaining != 6 {
		t.Errorf("peek: %+v, %v", d, err)
	}
	if d, err := l.Give(ctx, "trial", "k", 2); err != nil || d.Remaining != 8 {
		t.Errorf("give: %+v, %v", d, err)
	}
	for _, want := range []bool{true, false} {
		if found, err := l.Reset(ctx, "trial", "k"); err != nil || found != want {
			t.Errorf("reset: %t, %v, want %t", found, err, want)
		}
	}
	if d, err := l.Peek(ctx, "quiet", "k", 1); err != nil || !d.Allowed || d.Granted != 0 {
		t.Errorf("peek of a shadow: %+v, %v", d, err)
	}
	for _, err := range []error{second(l.Peek(ctx, "no", "k", 1)), second(l.Give(ctx, "no", "k", 1)), second(l.Reset(ctx, "no", "k"))} {
		if !errors.Is(err, headgate.ErrInvalid) {
			t.Errorf("an unknown policy: %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestBoundRoutes(t *testing.T) {
	l, _ := boundLimiter(t)
	allow := func(path, user string) headgate.Decision {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "http://host"+path, nil)
		if user != "" {
			r.Header.Set("X-User", user)
		}
		d, err := l.AllowRequest(r)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := allow("/both", "7"); !d.Allowed || d.Remaining != 2 || len(d.Limits) != 3 {
		t.Errorf("user in two policies is charged once: %+v", d)
	}
	lack, _ := errors.AsType[*httplimit.NoKeyError](second(l.AllowRequest(httptest.NewRequest(http.MethodGet, "/both", nil))))
	if lack == nil || lack.Status != 400 || lack.Part != "header X-User" || !errors.Is(lack, httplimit.ErrNoKey) {
		t.Errorf("a request without a key: %v", lack)
	}
	if d := allow("/skip", ""); !d.Allowed || !d.Unlimited {
		t.Errorf("a skipped route: %+v", d)
	}
	if d := allow("/cost", ""); !d.Allowed || d.Remaining != 0 || allow("/cost", "").Allowed {
		t.Errorf("a route with a cost: %+v", d)
	}
	if d := allow("/other", ""); !d.Allowed || !d.Unlimited {
		t.Errorf("no route: %+v", d)
	}
}

func TestBoundErrors(t *testing.T) {
	l, limiter := boundLimiter(t)
	_, err := l.Allow(t.Context(), "usr", "k")
	if !errors.Is(err, headgate.ErrInvalid) || !strings.Contains(err.Error(), `; did you mean "user"? accepted: `) {
		t.Errorf("an unknown policy: %v", err)
	}
	_ = limiter.Close()
	if _, err := l.Allow(t.Context(), "quiet", "k"); !errors.Is(err, headgate.ErrClosed) {
		t.Errorf("a closed limiter: %v", err)
	}
}

// TestBoundFailureModes checks that the failure modes answer for a store that does not answer, and that a new key that
// finds no room in the store is denied in each of them.
func TestBoundFailureModes(t *testing.T) {
	store, err := memstore.New(memstore.Config{MaxKeys: 1, Clock: headgatetest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	limiter := headgate.New(headgate.WithStore(storetest.Away(store, "away")))
	config, err := policy.Parse("x.yaml", []byte(`
policies:
  strict: {algorithm: fixed-window, limit: 9, window: 1h}
  open:   {algorithm: fixed-window, limit: 9, window: 1h, failure: allow}
routes:
  - {match: {path: /mixed}, key: [{const: away}], policies: [open, strict]}
`))
	if err != nil {
		t.Fatal(err)
	}
	l := filelimit.New(config, limiter)
	if d, err := l.Allow(t.Context(), "strict", "the only key"); err != nil || !d.Allowed {
		t.Fatalf("%+v, %v", d, err)
	}
	for _, name := range []string{"strict", "open"} {
		if d, err := l.Allow(t.Context(), name, "new"); err != nil || d.Allowed || !d.Full {
			t.Errorf("a full store answers for %s: %+v, %v", name, d, err)
		}
	}
	if _, err := l.Allow(t.Context(), "strict", "away"); !errors.Is(err, headgate.ErrStoreUnavailable) {
		t.Errorf("failure mode deny: %v", err)
	}
	if d, err := l.Allow(t.Context(), "open", "away"); err != nil || !d.Allowed || d.Promise.Mode != engine.Fallback {
		t.Errorf("failure mode allow: %+v, %v", d, err)
	}
	if _, err := l.AllowRequest(httptest.NewRequest(http.MethodGet, "/mixed", nil)); !errors.Is(err, headgate.ErrStoreUnavailable) {
		t.Errorf("one policy of the route denies: %v", err)
	}
}

// failing is a store whose server rejects every command, as for a wrong password.
type failing struct{ engine.Store }

func (failing) Do(_ context.Context, _ []engine.Op, results []engine.Answer) {
	for i := range results {
		results[i].Err = errors.New("WRONGPASS")
	}
}

// TestBoundFailureAllow checks that the failure mode allow also applies if the store is available and returns an error.
// A give still returns the error.
func TestBoundFailureAllow(t *testing.T) {
	config, err := policy.Parse("x.yaml", []byte("policies: {open: {algorithm: fixed-window, limit: 9, window: 1h, failure: allow}}"))
	if err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New(headgate.WithStore(failing{store}))
	defer limiter.Close()
	l := filelimit.New(config, limiter)
	if d, err := l.Allow(t.Context(), "open", "k"); err != nil || !d.Allowed || d.Promise.OvershootMax != engine.Unbounded {
		t.Errorf("a take: %+v, %v", d, err)
	}
	if _, err := l.Give(t.Context(), "open", "k", 1); err == nil {
		t.Error("a give that nobody took is no error")
	}
}

// TestNoRedisClientIsLinked checks that a program that reads a file and decides in memory does not link a Redis
// client.
func TestNoRedisClientIsLinked(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		for _, client := range []string{"rueidis", "go-redis", "redigo", "headgate/adapter", "headgate/open", "headgate/server"} {
			if strings.Contains(path, client) {
				t.Errorf("package decide links %s", path)
			}
		}
	}
}
