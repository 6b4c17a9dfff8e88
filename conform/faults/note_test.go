package faults

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/conform/redistest"
	"github.com/headgate/headgate/conform/testbed"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
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

// An earlier build may have left states whose names have since changed. They are reported, whichever node they are
// on. A store that is opened by URL reports them when it is opened, and any other store when it is used. States with
// unchanged names are read.
func TestEarlierBuildIsRefused(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	c := redistest.Cluster(t, redistest.Redis)
	for _, name := range []string{"headgate/inline/fixed-window/default/{k}", "headgate/policy:a%2Fb/sliding-window/x/{k}", "headgate/inline/pacer/default//{k}l"} {
		s.MustDo("set", name, "\x01", "px", "60000")
		wantRefusal(t, "redis://"+s.Addr(), redisstore.Older, name)
		s.MustDo("del", name)
		_, home := c.Of(name)
		home.MustDo("set", name, "\x01", "px", "60000")
		wantRefusal(t, testbed.OfCluster(c).URL, redisstore.Older, name)
		home.MustDo("del", name)
	}
	s.MustDo("set", "headgate/inline/fixed-window/default/{k}", "\x01", "px", "60000")
	testbed.WantClass(t, testbed.Take(testbed.OpenGoredis(t, testbed.At(s.Addr(), ""), redisstore.Config{}), "k", testbed.Hourly), redisstore.Older)
	s.MustDo("del", "headgate/inline/fixed-window/default/{k}")
	// These keys look similar, but belong to a subject or have another prefix.
	s.MustDo("set", "headgate/inline/token-bucket/default/{a/fixed-window/b}", "\x01", "px", "60000")
	s.MustDo("set", "headgate2/inline/fixed-window/default/{k}", "\x01", "px", "60000")
	s.MustDo("set", "headgate/team/pacer/token-bucket/default/{k}", "\x01", "px", "60000")
	testbed.Recovers(t, testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{}), 99)
}

// A process of an earlier build that had written nothing when the note was created is detected at its first write.
func TestEarlierBuildAlreadyRunning(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	testbed.Recovers(t, store, 99)
	s.MustDo("set", "headgate/inline/fixed-window/default/{k}", "\x01", "px", "60000")
	var r engine.Result
	for end := time.Now().Add(10 * time.Second); r.Err == nil && time.Now().Before(end); {
		r = testbed.Take(store, "other", testbed.Hourly)
	}
	testbed.WantClass(t, r, redisstore.Older)
}

// A token bucket, a sliding log and permits that are stored in format 1 continue to count.
func TestEarlierStatesAreRead(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	log := rule.SlidingLog(rule.PerHour(5))
	leases := rule.Concurrency(5, rule.LeaseTime(time.Hour))
	for _, limit := range []engine.Limit{rule.TokenBucket(rule.PerHour(5)), log} {
		op := engine.Single(engine.OpAllow, "k", limit, 3)
		op.Space = "s"
		doOp(t, store, op)
		key := store.Keys(&op)[0]
		s.MustDo("setrange", key, "0", "\x01")
		if d := doOp(t, store, engine.Op{Kind: engine.OpPeek, Space: "s", Key: "k", Charges: []engine.Charge{{Limit: limit, Cost: 1}}}); d.Remaining != 2 {
			t.Errorf("%v: %d of 5 left after 3 under the format before", limit, d.Remaining)
		}
	}
	op := engine.Op{Kind: engine.OpAcquire, Space: "s", Key: "k", ID: "a", Charges: []engine.Charge{{Limit: leases, Cost: 3}}}
	doOp(t, store, op)
	units := store.Keys(&op)[1]
	s.MustDo("hset", units, "", "\x01\x00\x00\x00\x00\x00\x00\x00\x03", "a", "3")
	op.ID = "b"
	if d := doOp(t, store, op); d.Allowed || d.Remaining != 2 {
		t.Errorf("3 of 5 are held under the format before: %+v", d)
	}
}

func doOp(t *testing.T, store engine.Store, op engine.Op) engine.Outcome {
	t.Helper()
	results := make([]engine.Result, 1)
	store.Do(context.Background(), []engine.Op{op}, results)
	if results[0].Err != nil {
		t.Fatal(results[0].Err)
	}
	return results[0].Outcome
}

// A note in a newer format stops all decisions within two beats, whether the store is busy or idle. A store that is
// opened later decides nothing. When this build's own note is back, decisions continue.
func TestNewerBuildIsNoticed(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	testbed.Recovers(t, store, 99)
	ours := s.Text("get", "headgate/shards")
	if ours != "format=2 shards=0" {
		t.Errorf("the note says %q", ours)
	}
	s.MustDo("set", "headgate/shards", "format=3 shards=0")
	var r engine.Result
	deadline := time.Now().Add(10 * time.Second)
	for r.Err == nil && time.Now().Before(deadline) {
		r = testbed.Take(store, "other", testbed.Hourly)
	}
	testbed.WantClass(t, r, redisstore.Newer)
	wantRefusal(t, "redis://"+s.Addr(), redisstore.Newer, "format 3")
	s.MustDo("set", "headgate/shards", ours)
	for r.Err != nil && time.Now().Before(deadline) {
		r = testbed.Take(store, "other", testbed.Hourly)
	}
	if r.Err != nil {
		t.Error("the note is this build's again:", r.Err)
	}
	// A server that has lost its data has also lost the note.
	s.MustDo("flushall")
	for s.MustDo("exists", "headgate/shards") == int64(0) && time.Now().Before(deadline) {
		testbed.Take(store, "other", testbed.Hourly)
	}
	if note := s.Text("get", "headgate/shards"); note != ours {
		t.Errorf("after a loss of data the note is %q", note)
	}
}
