package policies_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/policies"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const base = `
policies:
  api:  {algorithm: token-bucket, rate: 100/s, burst: 200}
  open: 10/m
`

// server is a manager with the policies that it activated and its log.
type server struct {
	*policies.Manager

	mu         sync.Mutex
	set        *policy.Set
	generation uint64
	log        bytes.Buffer
}

func (s *server) apply(_ context.Context, c *policy.Config) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set = c.Policies
	s.generation++
	return s.generation, nil
}

func (s *server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

// limit returns the active limit of a key.
func (s *server) limit(name, key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.set.Get(name)
	if !ok {
		return "none"
	}
	return p.Charges(nil, key, 1)[0].Limit.String()
}

func (s *server) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func begin(t testing.TB, file string, store policies.Store, with ...func(*policies.Config)) *server {
	t.Helper()
	config, err := policy.Parse("base.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	s := &server{}
	c := policies.Config{Base: config, Changes: store, Apply: s.apply, Logger: slog.New(slog.NewTextHandler(s, nil))}
	for _, set := range with {
		set(&c)
	}
	s.Manager, err = policies.New(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func rate(text string) policies.Change {
	return policies.Change{Change: adminapi.Change{Policy: "api", Fields: json.RawMessage(`{"rate":"` + text + `"}`), Author: "ann", Reason: "incident 7"}}
}

func change(t testing.TB, s *server, c policies.Change) policies.Change {
	t.Helper()
	made, err := s.Change(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func wants(t testing.TB, s *server, name, key, want string) {
	t.Helper()
	if got := s.limit(name, key); got != want {
		t.Errorf("%s of %s is %s, want %s", name, key, got, want)
	}
}

// TestChangeAndClear checks that a change is active when the call returns, and until it is cleared. The log contains a
// line for making the change and one for clearing it, with the author, the reason, and the fields before and after.
func TestChangeAndClear(t *testing.T) {
	s := begin(t, base, nil)
	wants(t, s, "api", "k", "100/s burst 200")
	first := change(t, s, rate("50/s"))
	wants(t, s, "api", "k", "50/s burst 200")
	partner := change(t, s, policies.Change{Change: adminapi.Change{Policy: "api", Key: "partner-7", Fields: json.RawMessage(`{"set": {"rate": "1000/s"}}`), Author: "bob"}})
	wants(t, s, "api", "partner-7", "1000/s burst 200")
	second := change(t, s, rate("70/s"))
	if second.Version <= first.Version || partner.Version == 0 || second.At.IsZero() {
		t.Errorf("versions %d, %d, made at %s", first.Version, second.Version, second.At)
	}
	if all := s.Changes(); len(all) != 2 || all[0].Key != "" || all[1].Key != "partner-7" || string(all[1].Fields) != `{"set":{"rate":"1000/s"}}` {
		t.Errorf("changes: %+v", all)
	}
	if _, err := s.Clear(context.Background(), "api", "", policies.By{Author: "eve", Reason: "over"}); err != nil {
		t.Fatal(err)
	}
	wants(t, s, "api", "k", "100/s burst 200")
	wants(t, s, "api", "partner-7", "1000/s burst 200")
	if _, err := s.Clear(context.Background(), "api", "", policies.By{Author: "eve"}); !errors.Is(err, policies.ErrNoChange) {
		t.Errorf("cleared twice: %v", err)
	}
	for _, line := range []string{
		`msg=audit action=change policy=api author=ann reason="incident 7" before="100/s burst 200" after="50/s burst 200" new="{\"rate\":\"50/s\"}" version=`,
		`msg=audit action=change policy=api key=partner-7 author=bob reason="" before="50/s burst 200" after="1000/s burst 200" new="{\"set\":{\"rate\":\"1000/s\"}}" version=`,
		`msg=audit action=change policy=api author=ann reason="incident 7" before="50/s burst 200" after="70/s burst 200" old="{\"rate\":\"50/s\"}" old_version=`,
		`msg=audit action=clear policy=api author=eve reason=over before="70/s burst 200" after="100/s burst 200" old="{\"rate\":\"70/s\"}" old_version=`,
	} {
		if strings.Count(s.logged(), line) != 1 {
			t.Errorf("the log has not one line %s:\n%s", line, s.logged())
		}
	}
}

// TestChangeKeepsOthersInForce (regression: bug 52): changing a policy, or clearing its change, is rejected if this would
// drop the change to a key. The error names the key, whose change stays active.
func TestChangeKeepsOthersInForce(t *testing.T) {
	s := begin(t, base, nil)
	joe := policies.Change{Change: adminapi.Change{Policy: "api", Key: "joe", Fields: json.RawMessage(`{"set": {"limit": 7}}`), Author: "bob"}}
	change(t, s, policies.Change{Change: adminapi.Change{Policy: "api", Fields: json.RawMessage(`"fixed-window 90/1h"`), Author: "ann"}})
	change(t, s, joe)
	change(t, s, policies.Change{Change: adminapi.Change{Policy: "api", Fields: json.RawMessage(`"fixed-window 80/1h"`), Author: "ann"}})
	wants(t, s, "api", "joe", "fixed-window 7/1h")
	ctx := context.Background()
	_, changed := s.Change(ctx, rate("50/s"))
	_, replaced := s.Change(ctx, policies.Change{Change: adminapi.Change{Policy: "api", Fields: json.RawMessage(`"50/s"`), Author: "ann"}})
	_, cleared := s.Clear(ctx, "api", "", policies.By{Author: "ann"})
	for _, err := range []error{changed, replaced, cleared} {
		if err == nil || !strings.Contains(err.Error(), `policy "api", key "joe"`) || !errors.Is(err, headgate.ErrInvalid) {
			t.Errorf("%v, want an error about joe", err)
		}
	}
	wants(t, s, "api", "joe", "fixed-window 7/1h")
	wants(t, s, "api", "k", "fixed-window 80/1h")
	for _, key := range []string{"joe", ""} {
		if _, err := s.Clear(ctx, "api", key, policies.By{Author: "ann"}); err != nil {
			t.Error(err)
		}
	}
	wants(t, s, "api", "joe", "100/s burst 200")
}

// TestChangesAreChecked checks that an invalid change gets an error with the reason, and that nothing changes.
func TestChangesAreChecked(t *testing.T) {
	s := begin(t, base, nil)
	with := func(edit func(*policies.Change)) policies.Change {
		c := rate("50/s")
		edit(&c)
		return c
	}
	for want, c := range map[string]policies.Change{
		"rate":    rate("fast"),
		"author":  with(func(c *policies.Change) { c.Author = "" }),
		"reason":  with(func(c *policies.Change) { c.Reason = strings.Repeat("x", 1025) }),
		"expires": with(func(c *policies.Change) { c.Expires = time.Now().Add(-time.Second) }),
		"fields":  with(func(c *policies.Change) { c.Fields = json.RawMessage(`{`) }),
		"name":    with(func(c *policies.Change) { c.Policy = "a b" }),
		"policy":  with(func(c *policies.Change) { c.Policy, c.Key, c.Fields = "missing", "k", json.RawMessage(`{"deny":true}`) }),
	} {
		if _, err := s.Change(context.Background(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error about %s", c, err, want)
		}
	}
	if _, err := s.Clear(context.Background(), "api", "", policies.By{Author: ""}); err == nil {
		t.Error("cleared without an author")
	}
	if s.generation != 1 || len(s.Changes()) != 0 {
		t.Errorf("generation %d, changes %v", s.generation, s.Changes())
	}
}

// TestExpiry checks that a change stays active until it expires.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, base, nil)
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { s.Run(ctx) })
		defer running.Wait()
		defer stop()
		time.Sleep(10 * time.Minute)
		c := rate("50/s")
		c.Expires = time.Now().Add(time.Hour)
		change(t, s, c)
		time.Sleep(time.Hour - time.Millisecond)
		wants(t, s, "api", "k", "50/s burst 200")
		time.Sleep(3 * time.Millisecond)
		wants(t, s, "api", "k", "100/s burst 200")
		if n := len(s.Changes()); n != 0 || strings.Count(s.logged(), "action=expire") != 1 {
			t.Errorf("%d changes\n%s", n, s.logged())
		}
	})
}

// TestStateFile checks that changes in a state file survive a restart, and that only the file's owner can read it.
func TestStateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	reopen := func() *server {
		t.Helper()
		store, err := policies.OpenStateFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return begin(t, base, store)
	}
	s := reopen()
	first := change(t, s, rate("50/s"))
	s = reopen()
	wants(t, s, "api", "k", "50/s burst 200")
	if second := change(t, s, rate("60/s")); second.Version <= first.Version {
		t.Errorf("version %d after %d", second.Version, first.Version)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", info, err)
	}
	if _, err := s.Clear(context.Background(), "api", "", policies.By{Author: "ann"}); err != nil {
		t.Fatal(err)
	}
	wants(t, reopen(), "api", "k", "100/s burst 200")
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("%v, %v; want one file", files, err)
	}
	for text, want := range map[string]string{"": "empty; accepted: what a server has written, or no file", "{": "unexpected end", `{"format":2}`: "format 2; accepted: 1"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := policies.OpenStateFile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := policies.OpenStateFile(filepath.Join(path, "no", "where")); err == nil {
		t.Error("a state file that cannot be written was opened")
	}
}

// TestSharedChanges runs two servers with the same file and one with an older file on one store. A change on one is
// active on the others within a second, and also after a restart. A change that is incompatible with the older file is
// omitted there.
func TestSharedChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		redis, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer redis.Close()
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		serve := func(file string) *server {
			s := begin(t, file, policies.NewShared(redis))
			running.Go(func() { s.Run(ctx) })
			return s
		}
		a, b := serve(base), serve(base)
		older := serve("policies: {open: 10/m}")
		change(t, a, rate("50/s"))
		time.Sleep(time.Second)
		wants(t, b, "api", "k", "50/s burst 200")
		if n := strings.Count(older.logged(), "change does not fit the policies file: ignored"); n != 1 {
			t.Errorf("%d lines about a change that does not fit:\n%s", n, older.logged())
		}
		change(t, b, rate("60/s"))
		change(t, b, policies.Change{Change: adminapi.Change{Policy: "open", Key: "k", Fields: json.RawMessage(`{"deny":true}`), Author: "bob"}})
		time.Sleep(time.Second)
		wants(t, a, "api", "k", "60/s burst 200")
		wants(t, a, "open", "k", "deny")
		wants(t, older, "open", "k", "deny")
		before := a.generation
		time.Sleep(10 * time.Minute) // everything is read again, but nothing has changed
		if a.generation != before {
			t.Errorf("generation %d after %d, and nothing has changed", a.generation, before)
		}
		stop()
		running.Wait()

		ctx, stop = context.WithCancel(context.Background())
		a, b = serve(base), serve(base)
		wants(t, a, "api", "k", "60/s burst 200")
		wants(t, b, "open", "k", "deny")
		if _, err := b.Clear(context.Background(), "open", "k", policies.By{Author: "ann"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		wants(t, a, "open", "k", "10/1m")
		change(t, a, policies.Change{Change: adminapi.Change{Policy: "open", Key: "k", Fields: json.RawMessage(`{"unlimited":true}`), Author: "bob"}})
		time.Sleep(time.Second)
		wants(t, b, "open", "k", "unlimited")
		stop()
		running.Wait()
	})
}

// TestChangeOfAMadePolicy checks that a restart logs nothing about a change to a policy that does not come from the file.
// If the policy is gone, the change is logged once.
func TestChangeOfAMadePolicy(t *testing.T) {
	changes := policies.NewMemory()
	limit, err := engine.ParseLimit("10/1m")
	if err != nil {
		t.Fatal(err)
	}
	made := []policy.External{{Name: "envoy.shop.user", Limit: limit, Space: "envoy/shop"}}
	serve := func() *server {
		return begin(t, base, changes, func(c *policies.Config) { c.External = true })
	}
	first := serve()
	first.SetExternal(t.Context(), made)
	change(t, first, policies.Change{Change: adminapi.Change{Policy: "envoy.shop.user", Key: "user=7", Fields: json.RawMessage(`{"deny":true}`), Author: "bob"}})
	second := serve()
	second.SetExternal(t.Context(), made)
	wants(t, second, "envoy.shop.user", "user=7", "deny")
	if strings.Contains(second.logged(), "does not fit") {
		t.Errorf("the change fits:\n%s", second.logged())
	}
	third := serve()
	third.SetExternal(t.Context(), nil)
	if n := strings.Count(third.logged(), "change does not fit the policies file: ignored"); n != 1 {
		t.Errorf("%d lines about a change without its policy:\n%s", n, third.logged())
	}
}

// TestStartNeedsTheChanges checks that New returns the error of the store of the changes if Config.Away is not set.
// Without the changes, the server would allow requests that the changes deny.
func TestStartNeedsTheChanges(t *testing.T) {
	redis, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := redis.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = policies.New(context.Background(), policies.Config{Changes: policies.NewShared(redis), Logger: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, headgate.ErrClosed) {
		t.Errorf("%v, want the store's error", err)
	}
}

// TestRefusedChangeHidesNothing checks that a rejected change does not hide changes that another server has made in
// the meantime.
func TestRefusedChangeHidesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		redis, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer redis.Close()
		a, b := begin(t, base, policies.NewShared(redis)), begin(t, base, policies.NewShared(redis))
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { b.Run(ctx) })
		defer running.Wait()
		defer stop()
		synctest.Wait()
		change(t, a, rate("50/s"))
		if _, err := b.Change(ctx, rate("fast")); err == nil {
			t.Error("a change that does not fit was made")
		}
		time.Sleep(time.Second)
		wants(t, b, "api", "k", "50/s burst 200")
	})
}
