package open_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/open"
)

// A deadline is at most a minute. A memory store has no deadline and is not wrapped.
func TestDeadlineIsBounded(t *testing.T) {
	var bad *engine.InputError
	if _, err := open.Store(t.Context(), "redis://127.0.0.1:1", open.Options{Deadline: time.Minute + 1}); !errors.As(err, &bad) || bad.Field != "deadline" {
		t.Errorf("%v, want an InputError about deadline", err)
	}
	if _, err := open.Store(t.Context(), "redis://127.0.0.1:1?deadline=2m", open.Options{}); !errors.As(err, &bad) || bad.Field != "store" {
		t.Errorf("%v, want an InputError about store", err)
	}
	if _, err := open.Store(t.Context(), "memory://", open.Options{}); !errors.As(err, &bad) || bad.Field != "store" || !strings.HasPrefix(bad.Accepted, "memory, redis://") {
		t.Errorf("%v, want an InputError that lists memory", err)
	}
	for address, want := range map[string]time.Duration{"": 0, "memory": 0, "redis://h": 0, "redis://h?deadline=80ms": 80 * time.Millisecond, "redis://h?deadline=none": -1} {
		if got, err := open.Deadline(address); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", address, got, err, want)
		}
	}
	store, err := open.Store(t.Context(), open.Memory, open.Options{Deadline: time.Second})
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
	store, err := open.Store(t.Context(), "redis://127.0.0.1:1", open.Options{StartAway: true, MaxStale: time.Second})
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
