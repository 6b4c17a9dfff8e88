package redistest

import (
	"io"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/headgate/headgate/lab/programs"
)

// links are the connections between the nodes of a Cluster. For the bus and for replication, nodes connect to each
// other through this process's listeners. Each node connects from its own loopback address, so that listeners can
// identify nodes. Clients use another address and are never cut off.
type links struct {
	t     testing.TB
	mu    sync.Mutex
	apart map[int]bool // nodes that are cut off from all others
	open  map[*link]bool
	doors []net.Listener
	works sync.WaitGroup
}

// link is a connection between two nodes, or from a client.
type link struct {
	from, to     int // from is -1 for a client
	inner, outer net.Conn
}

// source returns the loopback address from which a node connects to the others.
func source(node int) string { return "127.0.1." + strconv.Itoa(node+1) }

// nodeOf returns the node that connects from the given address, or -1.
func nodeOf(address net.Addr) int {
	tcp, ok := address.(*net.TCPAddr)
	if ip := tcp.IP.To4(); ok && ip != nil && ip[2] == 1 {
		return int(ip[3]) - 1
	}
	return -1
}

func newLinks(t testing.TB) *links {
	l := &links{t: t, apart: map[int]bool{}, open: map[*link]bool{}}
	t.Cleanup(func() {
		for _, door := range l.doors {
			_ = door.Close()
		}
		l.cut(func(*link) bool { return true })
		l.works.Wait()
	})
	return l
}

// listen forwards connections to a node's port, and returns the port to announce.
func (l *links) listen(node, port int) (announced int) {
	l.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(programs.FreePort(l.t)))
	if err != nil {
		l.t.Fatal(err)
	}
	l.works.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the listener was closed
			}
			l.works.Go(func() { l.forward(conn, node, port) })
		}
	})
	l.doors = append(l.doors, listener)
	return listener.Addr().(*net.TCPAddr).Port
}

// forward copies bytes between a connection and a node, in both directions, until either side closes the connection or
// the nodes are cut off from each other.
func (l *links) forward(outer net.Conn, to, port int) {
	defer outer.Close()
	inner, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return
	}
	defer inner.Close()
	one := &link{from: nodeOf(outer.RemoteAddr()), to: to, inner: inner, outer: outer}
	if !l.add(one) {
		return
	}
	defer l.remove(one)
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(outer, inner)
		one.close()
	})
	_, _ = io.Copy(inner, outer)
	one.close()
	back.Wait()
}

func (c *link) close() {
	_ = c.inner.Close()
	_ = c.outer.Close()
}

// add records an open link. It returns false if the link's nodes are cut off from each other.
func (l *links) add(c *link) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.severed(c) {
		return false
	}
	l.open[c] = true
	return true
}

func (l *links) remove(c *link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
}

// severed reports whether a partition separates the link's two ends.
func (l *links) severed(c *link) bool { return c.from >= 0 && l.apart[c.from] != l.apart[c.to] }

// cut closes the links that the given function selects.
func (l *links) cut(which func(*link) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		if which(c) {
			c.close()
		}
	}
}

// part cuts the given nodes off from the others and reconnects all nodes that are not given. Without arguments, it
// heals the partition.
func (l *links) part(nodes ...int) {
	l.mu.Lock()
	clear(l.apart)
	for _, n := range nodes {
		l.apart[n] = true
	}
	l.mu.Unlock()
	l.cut(l.severed)
}

// PartibleCluster starts a Cluster that can be partitioned. Clients can always reach all nodes.
func PartibleCluster(t testing.TB, flavor Flavor) *Nodes {
	t.Helper()
	return newCluster(t, flavor, newLinks(t))
}

// Part cuts a node off from all others, in both directions, until Heal.
func (c *Nodes) Part(s *Server) {
	for i, each := range c.Servers {
		if each == s {
			c.links.part(i)
		}
	}
}

// Heal reconnects all nodes, and waits until they agree.
func (c *Nodes) Heal() {
	c.t.Helper()
	c.links.part()
	c.settle(c.Servers)
}
