package honest

import (
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/redistest"
)

// fault is something that happens to Redis: set up begins the servers that it needs, and returns their address and what
// begins and ends the fault.
type fault struct {
	name  string
	quick bool // part of the short run
	setUp func(t *testing.T) (store string, begin, end func())
}

// ofServer is a fault of a single Redis.
func ofServer(name string, quick bool, begin, end func(s *redistest.Server)) fault {
	return fault{name, quick, func(t *testing.T) (string, func(), func()) {
		s := redistest.Standalone(t, redistest.Redis, "appendonly yes", "appendfsync always")
		return "redis://" + s.Addr(), func() { begin(s) }, func() { end(s) }
	}}
}

var faults = []fault{
	ofServer("killed", true, (*redistest.Server).Kill, (*redistest.Server).Start),
	ofServer("comes back empty", true, (*redistest.Server).Kill, func(s *redistest.Server) { s.Wipe(); s.Start() }),
	ofServer("hangs", true, (*redistest.Server).Pause, (*redistest.Server).Resume),
	ofServer("is full", true,
		func(s *redistest.Server) { s.MustDo("config", "set", "maxmemory", "1") },
		func(s *redistest.Server) { s.MustDo("config", "set", "maxmemory", "0") }),
	ofServer("has another password", true,
		func(s *redistest.Server) {
			s.MustDo("config", "set", "requirepass", "other")
			s.MustDo("client", "kill", "type", "normal", "skipme", "yes")
		},
		func(s *redistest.Server) { s.MustDo("config", "set", "requirepass", "") }),
	ofServer("is read-only", false,
		func(s *redistest.Server) { s.MustDo("config", "set", "min-replicas-to-write", "1") },
		func(s *redistest.Server) { s.MustDo("config", "set", "min-replicas-to-write", "0") }),
	ofServer("has no room for connections", false,
		func(s *redistest.Server) {
			s.MustDo("config", "set", "maxclients", "1") // that of the test
			s.MustDo("client", "kill", "type", "normal", "skipme", "yes")
		},
		func(s *redistest.Server) { s.MustDo("config", "set", "maxclients", "1000") }),
	{"fails over behind one address", true, failOver},
	{"a Cluster without one master", false, oneMaster},
}

// failOver makes the replica the primary by hand. The old primary stays up as its replica, and connections to it stay
// open: only the address leads to the new primary.
func failOver(t *testing.T) (store string, begin, end func()) {
	primary, replica := redistest.Replicated(t, redistest.Redis)
	address := newSwitch(t, primary.Addr())
	return "redis://" + address.listener.Addr().String(), func() {
			replica.MustDo("replicaof", "no", "one")
			host, port, _ := strings.Cut(replica.Addr(), ":")
			primary.MustDo("replicaof", host, port)
		}, func() {
			address.turn(replica.Addr())
		}
}

// oneMaster suspends one of three masters. No replica takes over.
func oneMaster(t *testing.T) (store string, begin, end func()) {
	c := redistest.Cluster(t, redistest.Redis)
	var hung *redistest.Server
	return "redis+cluster://" + strings.Join(c.Addrs(), ","),
		func() { hung = c.Hang("a") },
		func() { c.Recover(hung) }
}

// recovers is how long the servers may take until all answers are the store's again. After a loss of data, answers stay a
// fallback for longer.
const recovers = 5 * time.Second
