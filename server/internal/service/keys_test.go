package service_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/keyhash"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/service"
)

// seenKeys is a store that records the keys of its operations.
type seenKeys struct {
	engine.Store

	keys []string
}

func (s *seenKeys) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	for i := range ops {
		for c := range ops[i].Charges {
			_, key := ops[i].Subject(c)
			s.keys = append(s.keys, strings.Clone(key))
		}
	}
	s.Store.Do(ctx, ops, results)
}

// shownKeys is an observer that records the keys that [service.Observed.Key] returns.
type shownKeys []string

func (s *shownKeys) Observe(o *service.Observed) {
	for i := range o.Requests {
		one := o.One(i)
		*s = append(*s, strings.Clone(o.Key(i)))
		if one.Key(0) != o.Key(i) {
			*s = append(*s, "another key alone: "+one.Key(0))
		}
	}
}

func secrets(t *testing.T, text string) *keyhash.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := keyhash.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestHashedKeys checks that the store and the observer receive only hashes, in calls with errors, shadows and inline
// limits. Overrides match the key, its patterns and its hashes.
func TestHashedKeys(t *testing.T) {
	file := secrets(t, strings.Repeat("new", 11)+"\n"+strings.Repeat("old", 11))
	hash := func(secret int, key string) string { return file.Secrets().Of(secret, key) }
	config, err := policy.Parse("x.yaml", []byte(`
policies: {day: {algorithm: fixed-window, limit: 3, window: 1d, shadow: {algorithm: fixed-window, limit: 2, window: 1d}}}
overrides:
  - {policy: day, key: vip@example.com, set: {limit: 100}}
  - {policy: day, key: "*@partner.com", set: {limit: 200}}
  - {policy: day, key: "`+hash(0, "new@example.com")+`", set: {limit: 300}}
  - {policy: day, key: "`+hash(1, "old@example.com")+`", set: {limit: 400}}
`))
	if err != nil {
		t.Fatal(err)
	}
	memory, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	store, shown := &seenKeys{Store: memory}, new(shownKeys)
	s := service.New(service.Config{
		Limiter: core.New(core.Config{Store: store}), Policies: config.Policies, HashKeys: file, Observer: shown, AllowWrites: true,
	})
	of := func(key string) decide.Request {
		return decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: "day", Key: key}}
	}
	long := strings.Repeat("x", engine.MaxKeyBytes+1)
	requests := []decide.Request{
		of("ann@example.com"), of("vip@example.com"), of("bob@partner.com"), of("new@example.com"), of("old@example.com"),
		take("ann@example.com", one),
		{Kind: engine.OpAllow, Item: decide.Item{Policy: "unknown", Key: "ann@example.com"}},
		of(""), of(long),
		{Kind: engine.OpReset, Item: decide.Item{Policy: "day", Key: "ann@example.com"}},
		{Kind: engine.OpReset, Item: decide.Item{Policy: "day", Key: "ann@example.com", Counted: hash(1, "ann@example.com")}},
		of(hash(0, "new@example.com")),
		{Kind: engine.OpAllow, Item: decide.Item{Key: hash(0, "new@example.com")}, Route: &route.Match{Items: []route.Item{{Key: hash(0, "new@example.com")}}, Route: &route.Route{Charges: []route.Charge{{Policies: []string{"day"}}}}}},
	}
	answers := do(s, requests...)
	for i, want := range []int64{3, 100, 200, 300, 400} {
		if r := &answers[i]; r.Err != nil || r.Binds().Limit != want {
			t.Errorf("%s: %+v, want limit %d", requests[i].Key, r, want)
		}
	}
	for _, i := range []int{11, 12} { // a client that knows another key's hash has no rights to that key
		if r := &answers[i]; r.Err != nil || r.Binds().Limit != 3 {
			t.Errorf("the text of a hash as a key: %+v, want limit 3", r)
		}
	}
	for _, i := range []int{7, 8} {
		if err := answers[i].Err; err == nil || !strings.Contains(err.Error(), "key") {
			t.Errorf("a key of %d bytes: %v", len(requests[i].Key), err)
		}
	}
	if !answers[9].Found || answers[10].Found {
		t.Errorf("reset: found %t, and %t under the old secret", answers[9].Found, answers[10].Found)
	}
	for i := range requests {
		want := string(file.Secrets().Append(nil, 0, requests[i].Key))
		if requests[i].Counted != "" {
			want = requests[i].Counted
		}
		if (*shown)[i] != want {
			t.Errorf("%d: the observer shows %s, want %s", i, (*shown)[i], want)
		}
	}
	for _, key := range store.keys {
		if !keyhash.Is(key) && key != "" && key != long { // these two are rejected
			t.Errorf("the store got the key %q", key)
		}
	}
	if !slices.Contains(store.keys, hash(0, "ann@example.com")) || len(*shown) != len(requests) {
		t.Errorf("store %q, shown %q", store.keys, *shown)
	}
}
