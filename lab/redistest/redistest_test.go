package redistest_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headgate/headgate/lab/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server keeps its port when it restarts, and loses data that it is not configured to save.
func TestStandalone(t *testing.T) {
	for _, flavor := range []redistest.Flavor{redistest.Redis, redistest.Valkey} {
		t.Run(string(flavor), func(t *testing.T) {
			s := redistest.Standalone(t, flavor, "requirepass secret")
			s.MustDo("set", "k", "v")
			s.Restart()
			if n := s.MustDo("dbsize"); n != int64(0) {
				t.Errorf("%v keys after a restart", n)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	s, _ := redistest.TLS(t, redistest.Redis)
	s.MustDo("set", "k", "v")
}

// When the primary dies, another server takes over with its data.
func TestSentinel(t *testing.T) {
	s := redistest.Sentinel(t, redistest.Redis)
	first := s.Primary()
	first.MustDo("set", "k", "v")
	first.MustDo("wait", 2, 1000)
	s.KillPrimary()
	if now := s.Primary(); now == first || now.Text("get", "k") != "v" {
		t.Error("no other primary has the key")
	}
}

// Keys are on the nodes of their slots, even after a move and after a node has died.
func TestCluster(t *testing.T) {
	c := redistest.Cluster(t, redistest.Redis)
	_, home := c.Of("k")
	home.MustDo("set", "k", "v")
	m := c.Migrate("k")
	if _, err := m.To.Do("get", "k"); err == nil || !strings.HasPrefix(err.Error(), "MOVED") {
		t.Errorf("before the move: %v", err)
	}
	m.Settle()
	_, next := c.Of("k")
	if next != m.To || next.Text("get", "k") != "v" {
		t.Error("the key did not move")
	}
	next.MustDo("wait", 1, 1000)
	c.KillPrimaryOf("k")
	if _, last := c.Of("k"); last == next || last.Text("get", "k") != "v" {
		t.Error("no replica took over")
	}
}

// A primary that is cut off from the other nodes stops within twice the node timeout, and its replica takes over.
// Clients can reach both servers. After the partition has healed, one of the two serves the keys.
func TestPartition(t *testing.T) {
	c := redistest.PartibleCluster(t, redistest.Redis)
	_, minority := c.Of("k")
	minority.MustDo("set", "k", "before")
	minority.MustDo("wait", 1, 10000)
	c.Part(minority)
	refuses := func() bool {
		_, err := minority.Do("set", "k", "lost")
		return err != nil && strings.HasPrefix(err.Error(), "CLUSTERDOWN")
	}
	began := time.Now()
	for !refuses() {
		if time.Since(began) > 20*time.Second {
			t.Fatal("the primary that is cut off does not stop")
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("stopped after %s", time.Since(began))
	for _, err := minority.Do("role"); len(c.Primaries()) < 4; time.Sleep(10 * time.Millisecond) {
		if err != nil || time.Since(began) > 20*time.Second {
			t.Fatalf("no replica took over: %v", err)
		}
	}
	c.Heal()
	for len(c.Primaries()) != 3 {
		if time.Since(began) > 30*time.Second {
			t.Fatal("there are still two primaries")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, home := c.Of("k"); home == minority || home.Text("get", "k") != "before" {
		t.Error("what the majority has is what counts")
	}
}

// Forward and backward clock steps affect scripts and TTLs, and survive a restart.
func TestSteppedClock(t *testing.T) {
	s := redistest.SteppedClock(t, redistest.Redis)
	const script = "return redis.call('TIME')[1]"
	at := func() time.Duration {
		seconds, err := strconv.ParseInt(s.Text("eval", script, 0), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return time.Until(time.Unix(seconds, 0)).Round(10 * time.Second)
	}
	s.MustDo("set", "k", "v", "px", 60_000)
	for _, by := range []time.Duration{0, 30 * time.Second, -time.Hour, 50 * time.Second} {
		s.Step(by)
		if got := at(); got != by {
			t.Errorf("the clock is %s ahead, want %s", got, by)
		}
	}
	if s.Text("get", "k") != "v" {
		t.Error("the key is gone before its time")
	}
	s.Step(2 * time.Minute)
	if left := s.MustDo("exists", "k"); left != int64(0) {
		t.Error("the key is there after its time")
	}
	s.Restart()
	if got := at(); got != 2*time.Minute {
		t.Errorf("after a restart the clock is %s ahead", got)
	}
}
