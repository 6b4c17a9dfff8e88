package redistest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/programs"
)

// Nodes is a Cluster of three primaries with one replica each.
type Nodes struct {
	t       testing.TB
	Servers []*Server // the first three started as primaries
	links   *links    // nil if the nodes cannot be partitioned
}

const slots = 16384

// Cluster starts a Cluster. A primary that does not answer for a second is replaced by its replica.
func Cluster(t testing.TB, flavor Flavor, config ...string) *Nodes {
	t.Helper()
	return newCluster(t, flavor, nil, config...)
}

// NodeTimeout is the cluster-node-timeout of Clusters started by this package.
const NodeTimeout = time.Second

// formTimeout is the node timeout while a Cluster forms. If it were as short as NodeTimeout, handshakes on a busy
// machine would expire and not be repeated, and replicas would replace primaries.
const formTimeout = time.Minute

func newCluster(t testing.TB, flavor Flavor, l *links, config ...string) *Nodes {
	t.Helper()
	Need(t, flavor)
	c := &Nodes{t: t, links: l}
	for i := range 6 {
		bus := programs.FreePort(t)
		s := prepare(t, flavor, config...)
		own := []string{
			"cluster-enabled", "yes", "cluster-node-timeout", strconv.FormatInt(formTimeout.Milliseconds(), 10),
			"cluster-port", strconv.Itoa(bus), "cluster-replica-validity-factor", "0",
		}
		if l != nil {
			own = append(own, "bind-source-addr", source(i), "cluster-announce-ip", "127.0.0.1",
				"cluster-announce-port", strconv.Itoa(l.listen(i, s.Port)), "cluster-announce-bus-port", strconv.Itoa(l.listen(i, bus)))
		}
		s.args = append(s.args, own...)
		s.Start()
		c.Servers = append(c.Servers, s)
	}
	for i, s := range c.Servers {
		s.MustDo("cluster", "set-config-epoch", i+1)
		if i < 3 {
			s.MustDo("cluster", "addslotsrange", i*slots/3, (i+1)*slots/3-1)
		}
		for _, other := range c.Servers[:i] { // each pair, because gossip is slow with formTimeout
			s.MustDo("cluster", "meet", "127.0.0.1", other.announced("cluster-announce-port", "port"), other.announced("cluster-announce-bus-port", "cluster-port"))
		}
	}
	for i, s := range c.Servers[3:] {
		id := c.Servers[i].id()
		s.wait("to meet the others", func() bool {
			return strings.Count(s.Text("cluster", "nodes"), "connected") >= 6 && strings.Contains(s.Text("cluster", "nodes"), id)
		})
		s.wait("to replicate", func() bool {
			_, err := s.Do("cluster", "replicate", id)
			return err == nil
		})
	}
	for _, s := range c.Servers[3:] {
		s.wait("to follow its primary", s.follows)
	}
	c.settle(c.Servers)
	for _, s := range c.Servers {
		s.MustDo("config", "set", "cluster-node-timeout", NodeTimeout.Milliseconds())
		s.MustDo("config", "rewrite") // for a restart
	}
	return c
}

// announced returns the first of the named settings that is set on the server. The setting's value is a port where
// other nodes reach the server.
func (s *Server) announced(names ...string) string {
	for _, name := range names {
		for i := 0; i < len(s.args); i += 2 {
			if s.args[i] == name {
				return s.args[i+1]
			}
		}
	}
	return ""
}

func (s *Server) id() string { return s.Text("cluster", "myid") }

// settle waits until all nodes agree that every slot is assigned to a node.
func (c *Nodes) settle(of []*Server) {
	c.t.Helper()
	for _, s := range of {
		s.wait("to see the Cluster whole", func() bool {
			info, err := s.Do("cluster", "info")
			text := fmt.Sprint(info)
			return err == nil && strings.Contains(text, "cluster_state:ok") && strings.Contains(text, "cluster_slots_ok:16384")
		})
	}
}

// Addrs returns the addresses of all nodes.
func (c *Nodes) Addrs() []string {
	var addrs []string
	for _, s := range c.Servers {
		addrs = append(addrs, s.Addr())
	}
	return addrs
}

// Primaries returns the nodes that are currently primaries.
func (c *Nodes) Primaries() (primaries []*Server) {
	for _, s := range c.Servers {
		if s.done == nil {
			continue
		}
		role, err := s.Do("role")
		if list, ok := role.([]any); err == nil && ok && len(list) > 0 && list[0] == "master" {
			primaries = append(primaries, s)
		}
	}
	return primaries
}

// Of returns a key's slot and the primary that serves the slot.
func (c *Nodes) Of(key string) (slot int64, primary *Server) {
	c.t.Helper()
	for _, s := range c.Primaries() {
		slot = s.MustDo("cluster", "keyslot", key).(int64)
		if s.serves(slot) {
			return slot, s
		}
	}
	c.t.Fatalf("no node serves %q", key)
	return 0, nil
}

// serves reports whether the node considers itself responsible for the slot.
func (s *Server) serves(slot int64) bool {
	for line := range strings.Lines(s.Text("cluster", "nodes")) {
		if !strings.Contains(line, "myself") {
			continue
		}
		for _, part := range strings.Fields(line)[8:] {
			first, last, ranged := strings.Cut(part, "-")
			if !ranged {
				last = first
			}
			from, err := strconv.ParseInt(first, 10, 64)
			to, err2 := strconv.ParseInt(last, 10, 64)
			if err == nil && err2 == nil && from <= slot && slot <= to {
				return true
			}
		}
	}
	return false
}

// Hang pauses a key's primary and prevents a replica from taking over. The other primaries continue to serve their slots.
func (c *Nodes) Hang(key string) (primary *Server) {
	c.t.Helper()
	c.configure("yes", "no")
	_, primary = c.Of(key)
	primary.Pause()
	return primary
}

// Recover resumes a primary that hangs, and waits until it serves its slots.
func (c *Nodes) Recover(primary *Server) {
	c.t.Helper()
	primary.Resume()
	c.settle(c.Servers)
	c.configure("no", "yes")
}

func (c *Nodes) configure(noFailover, fullCoverage string) {
	c.t.Helper()
	for _, s := range c.Servers {
		if s.done != nil {
			s.MustDo("config", "set", "cluster-replica-no-failover", noFailover, "cluster-require-full-coverage", fullCoverage)
		}
	}
}

// Migrate begins to move a key's slot to another primary. The keys stay in place until MoveKeys moves them. Settle
// ends the move.
func (c *Nodes) Migrate(key string) *Move {
	c.t.Helper()
	slot, from := c.Of(key)
	m := &Move{nodes: c, slot: slot, From: from}
	for _, s := range c.Primaries() {
		if s != from {
			m.To = s
		}
	}
	m.To.MustDo("cluster", "setslot", slot, "importing", from.id())
	from.MustDo("cluster", "setslot", slot, "migrating", m.To.id())
	return m
}

// Move is a slot move in progress.
type Move struct {
	nodes    *Nodes
	slot     int64
	From, To *Server
}

// MoveKeys moves some of the slot's keys, at most the given number.
func (m *Move) MoveKeys(most int) {
	m.nodes.t.Helper()
	keys := m.From.MustDo("cluster", "getkeysinslot", m.slot, most).([]any)
	for _, key := range keys {
		m.From.MustDo("migrate", "127.0.0.1", m.To.Port, key, 0, 5000)
	}
}

// Settle moves the remaining keys and ends the move.
func (m *Move) Settle() {
	m.nodes.t.Helper()
	m.MoveKeys(100_000)
	m.To.MustDo("cluster", "setslot", m.slot, "node", m.To.id())
	m.From.MustDo("cluster", "setslot", m.slot, "node", m.To.id())
	for _, s := range m.nodes.Primaries() {
		if s != m.From && s != m.To {
			_, _ = s.Do("cluster", "setslot", m.slot, "node", m.To.id())
		}
	}
}

// KillPrimaryOf kills a key's primary, and waits until the primary's replica serves the slots.
func (c *Nodes) KillPrimaryOf(key string) (killed *Server) {
	c.t.Helper()
	slot, killed := c.Of(key)
	killed.Kill()
	var left []*Server
	for _, s := range c.Servers {
		if s.done != nil {
			left = append(left, s)
		}
	}
	left[0].wait("to see another primary", func() bool {
		for _, s := range c.Primaries() {
			if s.serves(slot) {
				return true
			}
		}
		return false
	})
	c.settle(left)
	return killed
}
