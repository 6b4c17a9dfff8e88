package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Replicated starts a primary, and a replica that is in sync.
func Replicated(t testing.TB, flavor Flavor, config ...string) (primary, replica *Server) {
	t.Helper()
	primary = Standalone(t, flavor, config...)
	return primary, ReplicaOf(t, primary, config...)
}

// ReplicaOf starts another replica of a server, and waits until it is in sync.
func ReplicaOf(t testing.TB, primary *Server, config ...string) (replica *Server) {
	t.Helper()
	replica = Standalone(t, primary.flavor, append(config, "replicaof 127.0.0.1 "+fmt.Sprint(primary.Port))...)
	replica.wait("to follow its primary", replica.follows)
	return replica
}

func (s *Server) follows() bool {
	info, err := s.Do("info", "replication")
	return err == nil && strings.Contains(fmt.Sprint(info), "master_link_status:up")
}

// Sentinels is a primary with two replicas that three Sentinels monitor.
type Sentinels struct {
	// MasterName is the primary's name in the Sentinels' configuration.
	MasterName string
	servers    []*Server
	sentinels  []*Server
}

// Sentinel starts the servers and Sentinels. The Sentinels replace a primary that does not answer for half a second.
func Sentinel(t testing.TB, flavor Flavor) *Sentinels {
	t.Helper()
	s := &Sentinels{MasterName: "mymaster"}
	primary := Standalone(t, flavor)
	s.servers = []*Server{primary}
	for range 2 {
		s.servers = append(s.servers, Standalone(t, flavor, "replicaof 127.0.0.1 "+fmt.Sprint(primary.Port)))
	}
	for _, replica := range s.servers[1:] {
		replica.wait("to follow its primary", replica.follows)
	}
	for range 3 {
		s.sentinels = append(s.sentinels, sentinel(t, flavor, primary.Port))
	}
	for _, each := range s.sentinels {
		each.wait("to know the others", func() bool {
			replicas, err := each.Do("sentinel", "replicas", s.MasterName)
			others, err2 := each.Do("sentinel", "sentinels", s.MasterName)
			known, ok := replicas.([]any)
			peers, ok2 := others.([]any)
			return err == nil && err2 == nil && ok && ok2 && len(known) == 2 && len(peers) == 2
		})
	}
	return s
}

func sentinel(t testing.TB, flavor Flavor, port int) *Server {
	t.Helper()
	s := prepare(t, flavor)
	lines := fmt.Sprintf(`port %d
bind 127.0.0.1
dir %s
sentinel monitor mymaster 127.0.0.1 %d 2
sentinel down-after-milliseconds mymaster 500
sentinel failover-timeout mymaster 3000
`, s.Port, s.dir, port)
	file := filepath.Join(s.dir, "sentinel.conf")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	s.launch(file, "--sentinel")
	s.connect()
	s.wait("to answer", func() bool {
		_, err := s.Do("ping")
		return err == nil
	})
	return s
}

// Addrs returns the addresses of the Sentinels.
func (s *Sentinels) Addrs() []string {
	var addrs []string
	for _, each := range s.sentinels {
		addrs = append(addrs, each.Addr())
	}
	return addrs
}

// Servers returns the primary and the replicas.
func (s *Sentinels) Servers() []*Server { return s.servers }

// Primary returns the current primary.
func (s *Sentinels) Primary() *Server {
	for _, server := range s.servers {
		role, err := server.Do("role")
		if list, ok := role.([]any); err == nil && ok && len(list) > 0 && list[0] == "master" && server.done != nil {
			return server
		}
	}
	return nil
}

// KillPrimary kills the primary. It waits until another server is primary and the Sentinels report that server.
func (s *Sentinels) KillPrimary() {
	old := s.Primary()
	old.Kill()
	s.sentinels[0].wait("to name another primary", func() bool {
		for _, each := range s.sentinels {
			address, err := each.Do("sentinel", "get-master-addr-by-name", s.MasterName)
			list, ok := address.([]any)
			if err != nil || !ok || len(list) != 2 || list[1] == fmt.Sprint(old.Port) {
				return false
			}
		}
		return s.Primary() != nil
	})
}
