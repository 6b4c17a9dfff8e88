package open_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore"
)

// A deadline is 1 ms to a minute. A memory store has no deadline and is not wrapped.
func TestDeadlineIsBounded(t *testing.T) {
	var bad *engine.InputError
	if _, err := open.URL(t.Context(), "redis://127.0.0.1:1", open.Options{Deadline: time.Minute + 1}); !errors.As(err, &bad) || bad.Field != "deadline" {
		t.Errorf("%v, want an InputError about deadline", err)
	}
	// A bare 50 is 50 ns: every call would fail (regression: bug 147).
	if _, err := open.URL(t.Context(), "redis://127.0.0.1:1", open.Options{Deadline: 50}); !errors.As(err, &bad) || bad.Field != "deadline" {
		t.Errorf("%v, want an InputError about deadline", err)
	}
	if _, err := open.URL(t.Context(), "redis://127.0.0.1:1?deadline=2m", open.Options{}); !errors.As(err, &bad) || bad.Field != "store" {
		t.Errorf("%v, want an InputError about store", err)
	}
	if _, err := open.URL(t.Context(), "memory://", open.Options{}); !errors.As(err, &bad) || bad.Field != "store" || !strings.HasPrefix(bad.Accepted, "memory, redis://") {
		t.Errorf("%v, want an InputError that lists memory", err)
	}
	for address, want := range map[string]time.Duration{"": 0, "memory": 0, "redis://h": 0, "redis://h?deadline=80ms": 80 * time.Millisecond, "redis://h?deadline=none": -1} {
		if got, err := open.Deadline(address); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", address, got, err, want)
		}
	}
	store, err := open.URL(t.Context(), open.Memory, open.Options{Deadline: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, bare := store.Store.(*memstore.Store); !bare {
		t.Errorf("a store in memory is %T", store.Store)
	}
}

// Tools that unwrap the layers one by one find the layers inside the deadline layer.
func TestLayersAreReachedThroughTheDeadline(t *testing.T) {
	store, err := open.URL(t.Context(), "redis://127.0.0.1:1", open.Options{StartAway: true, Fallback: &fallback.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	layers := 0
	for layer := store.Store; ; layers++ {
		wrapper, ok := layer.(interface{ Unwrap() engine.Store })
		if !ok {
			break
		}
		layer = wrapper.Unwrap()
	}
	if layers < 3 { // the deadline, the deny cache, group commit
		t.Errorf("%d layers are reached, want 3", layers)
	}
}

func TestRedactedHidesUserAndPassword(t *testing.T) {
	for address, want := range map[string]string{
		"":                                     "memory",
		"memory":                               "memory",
		"redis://127.0.0.1:6379/1?prefix=a":    "redis://127.0.0.1:6379/1?prefix=a",
		"redis://user:word@127.0.0.1:6379":     "redis://…@127.0.0.1:6379",
		"redis://:w@r/d?@h":                    "redis://…@h",
		"redis+sentinel://u:word@h1,h2/master": "redis+sentinel://…@h1,h2/master",
		"unix:///run/redis.sock?db=1":          "unix:///run/redis.sock?db=1",
	} {
		if got := open.Redacted(address); got != want {
			t.Errorf("Redacted(%q) = %q, want %q", address, got, want)
		}
	}
}

// A store that could not be opened returns its error from every method, and so does a limiter that uses it. It used to
// panic, and Wait panicked in a goroutine of the limiter (regression: bug 115).
func TestStoreThatFailed(t *testing.T) {
	store, refused := open.URL(t.Context(), "redis://127.0.0.1:1", open.Options{})
	if refused == nil {
		t.Fatal("a store was opened")
	}
	limiter := headgate.New(headgate.WithStore(store))
	p := limiter.Policy("p", headgate.TokenBucket{Rate: headgate.PerSecond(1)})
	_, allow := p.Allow(t.Context(), "k")
	_, wait := p.Wait(t.Context(), "k")
	for verb, err := range map[string]error{"Err": p.Err(), "Allow": allow, "Wait": wait, "Close": limiter.Close()} {
		if !errors.Is(err, headgate.ErrInvalid) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%s: %v", verb, err)
		}
	}
	results := make([]engine.Answer, 1)
	store.Do(t.Context(), make([]engine.Op, 1), results)
	if err := store.Close(); !errors.Is(err, refused) || !errors.Is(results[0].Err, refused) {
		t.Errorf("Close returns %v, and Do %v", err, results[0].Err)
	}
}

// Options for another kind of store are errors, and so are a nil connection and a nil context.
func TestConnChecksItsArguments(t *testing.T) {
	var conn unused
	for field, open := range map[string]func() (open.Opened, error){
		"conn":          func() (open.Opened, error) { return open.Conn(t.Context(), nil, open.Options{}) },
		"ctx":           func() (open.Opened, error) { return open.Conn(nil, conn, open.Options{}) }, //nolint:staticcheck // the mistake
		"password_file": func() (open.Opened, error) { return open.Conn(t.Context(), conn, open.Options{PasswordFile: "p"}) },
		"memory": func() (open.Opened, error) {
			return open.Conn(t.Context(), conn, open.Options{Memory: memstore.Config{MaxKeys: 9}})
		},
		"deadline": func() (open.Opened, error) { return open.Conn(t.Context(), conn, open.Options{Deadline: time.Hour}) },
	} {
		var bad *engine.InputError
		if store, err := open(); !errors.As(err, &bad) || bad.Field != field || store.Close() == nil {
			t.Errorf("%v, want an InputError about %s", err, field)
		}
	}
}

// unused is a connection that must not be called.
type unused struct{ redisstore.Conn }

func (unused) Cluster() bool { return false }

// A store that was never opened, as after `var store open.Opened`, returns errors and can be closed by a deferred call
// (regression: bug 205).
func TestStoreThatWasNotOpened(t *testing.T) {
	var store open.Opened
	answers := make([]engine.Answer, 1)
	store.Do(t.Context(), make([]engine.Op, 1), answers)
	_, allow := headgate.New(headgate.WithStore(store)).Policy("p", headgate.TokenBucket{Rate: headgate.PerDay(5)}).Allow(t.Context(), "k")
	for _, err := range []error{store.Close(), answers[0].Err, allow} {
		if !errors.Is(err, headgate.ErrInvalid) {
			t.Error(err)
		}
	}
}

// A snapshot is not ignored silently by a store on Redis.
func TestSnapshotOnRedisIsRefused(t *testing.T) {
	opened, err := open.URL(t.Context(), "redis://127.0.0.1:1", open.Options{Restore: strings.NewReader("")})
	if input, ok := errors.AsType[*engine.InputError](err); !ok || input.Field != "restore" {
		t.Error(err)
	}
	_ = opened.Close()
}
