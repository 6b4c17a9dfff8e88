package faults

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// wantRefusal checks that opening a store fails with an error of the given class whose text contains names.
func wantRefusal(t *testing.T, url string, class redisstore.Class, names string) {
	t.Helper()
	store, err := rueidisadapter.Open(context.Background(), url, redisstore.Config{})
	if err == nil {
		_ = store.Close()
	}
	e, ok := errors.AsType[*redisstore.Error](err)
	if !ok || e.Class != class || !strings.Contains(e.Text, names) {
		t.Errorf("opened with %v, want an error of class %s that names %q", err, class, names)
	}
}

// A note in a newer format stops all decisions within two beats, whether the store is busy or idle. A store that is
// opened later decides nothing. When this build's own note is back, decisions continue.
func TestNewerBuildIsNoticed(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	testbed.Recovers(t, store, 99)
	ours := s.Text("get", "hg/shards")
	if ours != "format=1 shards=0" {
		t.Errorf("the note says %q", ours)
	}
	s.MustDo("set", "hg/shards", "format=2 shards=0")
	var r engine.Answer
	deadline := time.Now().Add(10 * time.Second)
	for r.Err == nil && time.Now().Before(deadline) {
		r = testbed.Take(store, "other", testbed.Hourly)
	}
	testbed.WantClass(t, r, redisstore.Newer)
	wantRefusal(t, "redis://"+s.Addr(), redisstore.Newer, "format 2")
	s.MustDo("set", "hg/shards", ours)
	for r.Err != nil && time.Now().Before(deadline) {
		r = testbed.Take(store, "other", testbed.Hourly)
	}
	if r.Err != nil {
		t.Error("the note is this build's again:", r.Err)
	}
	// A server that has lost its data has also lost the note.
	s.MustDo("flushall")
	for s.MustDo("exists", "hg/shards") == int64(0) && time.Now().Before(deadline) {
		testbed.Take(store, "other", testbed.Hourly)
	}
	if note := s.Text("get", "hg/shards"); note != ours {
		t.Errorf("after a loss of data the note is %q", note)
	}
}
