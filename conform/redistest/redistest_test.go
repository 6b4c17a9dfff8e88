package redistest_test

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/headgate/headgate/conform/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server keeps its port over a restart, and loses the data that it was not told to
// save.
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

// Keys are on the nodes of their slots, also after a move and after a node's death.
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
