package faults

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
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

// A note in a newer format is refused by a store that opens, and by one that was opened while the server was away. When
// this build's own note is back, the latter decides.
func TestNewerBuildIsNoticed(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	testbed.Recovers(t, testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{}), 99)
	ours := s.Text("get", "hg/shards")
	if ours != "format=1 shards=0" {
		t.Errorf("the note says %q", ours)
	}
	s.MustDo("set", "hg/shards", "format=2 shards=0")
	wantRefusal(t, "redis://"+s.Addr(), redisstore.Newer, "format 2")
	store, err := rueidisadapter.OpenLate(context.Background(), "redis://"+s.Addr(), redisstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	r := testbed.Take(store, "other", testbed.Hourly)
	testbed.WantClass(t, r, redisstore.Newer)
	s.MustDo("set", "hg/shards", ours)
	for deadline := time.Now().Add(10 * time.Second); r.Err != nil && time.Now().Before(deadline); {
		r = testbed.Take(store, "other", testbed.Hourly)
	}
	if r.Err != nil {
		t.Error("the note is this build's again:", r.Err)
	}
}
