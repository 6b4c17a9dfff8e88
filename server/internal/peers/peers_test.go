package peers_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/server/internal/peers"
)

// TestShares checks that a peer gets its share of the places, that an exempt peer gets all places, and that no peer
// gets more than exist.
func TestShares(t *testing.T) {
	exempt := netip.MustParsePrefix("10.0.0.0/8")
	for _, c := range []struct {
		name    string
		percent int
		from    []string
		want    []peers.Verdict
	}{
		{"a peer has a quarter", 25, []string{"192.0.2.1", "192.0.2.1", "192.0.2.1"}, []peers.Verdict{peers.Granted, peers.Granted, peers.OverShare}},
		{"peers have their own shares", 25, []string{"192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.1"}, []peers.Verdict{peers.Granted, peers.Granted, peers.Granted, peers.OverShare}},
		{"a share is one place at least", 1, []string{"192.0.2.1", "192.0.2.1"}, []peers.Verdict{peers.Granted, peers.OverShare}},
		{"IPv6 counts by /64", 13, []string{"2001:db8::1", "2001:db8::2:1", "2001:db8:0:1::1"}, []peers.Verdict{peers.Granted, peers.OverShare, peers.Granted}},
		{"IPv4 inside IPv6 is IPv4", 13, []string{"192.0.2.1", "::ffff:192.0.2.1", "::ffff:192.0.2.2"}, []peers.Verdict{peers.Granted, peers.OverShare, peers.Granted}},
		{"so it is behind NAT64", 13, []string{"192.0.2.1", "64:ff9b::192.0.2.1", "64:ff9b::192.0.2.2"}, []peers.Verdict{peers.Granted, peers.OverShare, peers.Granted}},
		{"an exempt peer has all", 25, slices.Repeat([]string{"10.1.2.3"}, 9), append(slices.Repeat([]peers.Verdict{peers.Granted}, 8), peers.Full)},
		{"so has one without an address", 25, slices.Repeat([]string{""}, 9), append(slices.Repeat([]peers.Verdict{peers.Granted}, 8), peers.Full)},
		{"100 is no share", 100, slices.Repeat([]string{"192.0.2.1"}, 9), append(slices.Repeat([]peers.Verdict{peers.Granted}, 8), peers.Full)},
		{"0 neither", 0, slices.Repeat([]string{"192.0.2.1"}, 9), append(slices.Repeat([]peers.Verdict{peers.Granted}, 8), peers.Full)},
	} {
		s := peers.NewShares(8, peers.Rule{Percent: c.percent, Exempt: exempt.Contains})
		var held []peers.Place
		for i, from := range c.from {
			address, _ := netip.ParseAddr(from)
			place, got := s.Take(address)
			if got != c.want[i] {
				t.Errorf("%s: place %d of %q: %d, want %d", c.name, i, from, got, c.want[i])
			}
			held = append(held, place)
		}
		for _, place := range held {
			place.Free()
		}
		if s.Held() != 0 {
			t.Errorf("%s: %d places are held after all were freed", c.name, s.Held())
		}
	}
}

// TestSharesOfManyGoroutines checks that three peers never hold more places than their shares together, and that all
// places are freed.
func TestSharesOfManyGoroutines(t *testing.T) {
	s := peers.NewShares(40, peers.Rule{Percent: 25})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			peer := netip.AddrFrom4([4]byte{192, 0, 2, byte(i % 3)})
			for range 2000 {
				place, verdict := s.Take(peer)
				if held := s.Held(); held > 30 { // three peers with 10 each
					t.Errorf("%d places are held, want at most 30", held)
				}
				if verdict == peers.Granted {
					place.Free()
				}
			}
		})
	}
	all.Wait()
	if s.Held() != 0 {
		t.Errorf("%d places are held", s.Held())
	}
}

// pipe is a connection with a peer address.
type pipe struct {
	net.Conn

	from   net.Addr
	closed chan struct{}
	once   sync.Once
}

func newPipe(from string) *pipe {
	_, server := net.Pipe()
	return &pipe{Conn: server, from: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from)), closed: make(chan struct{})}
}

func (p *pipe) RemoteAddr() net.Addr { return p.from }

func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Conn.Close()
}

func (p *pipe) isClosed() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

// TestLongestIdleConnectionIsClosed (regression: bug 70): while at most a tenth of the places are free, each new connection closes
// the one that has been idle the longest, but never a busy or recent one.
func TestLongestIdleConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := peers.NewConns(20, peers.Rule{Percent: 100})
		var pipes []*pipe
		var conns []*peers.Conn
		admit := func() peers.Verdict {
			p := newPipe(fmt.Sprintf("192.0.2.1:%d", 1000+len(pipes)))
			conn, verdict := c.Admit(p)
			pipes, conns = append(pipes, p), append(conns, conn)
			return verdict
		}
		closed := func() (all []int) {
			for i, p := range pipes {
				if p.isClosed() {
					all = append(all, i)
				}
			}
			return all
		}
		for range 18 {
			admit()
			time.Sleep(10 * time.Millisecond)
		}
		for i, conn := range conns {
			if i%2 == 1 {
				conn.Busy()
			}
		}
		admit()
		admit()
		if got := closed(); got != nil {
			t.Errorf("%v are closed although none has been idle for a second", got)
		}
		if verdict := admit(); verdict != peers.Full {
			t.Errorf("%d, want full", verdict)
		}
		time.Sleep(2 * time.Second)
		conns[0].Busy()
		conns[0].Idle() // has just had a request
		conns[2].Begin()
		for range 3 {
			if verdict := admit(); verdict != peers.Granted {
				t.Errorf("%d, want a place of an idle connection", verdict)
			}
		}
		if got := closed(); !slices.Equal(got, []int{4, 6, 8}) {
			t.Errorf("closed are %v, want those that have been idle the longest: 4, 6, 8", got)
		}
		conns[2].End()
		time.Sleep(time.Minute)
		c.CloseIdle()
		if got := closed(); !slices.Equal(got, []int{4, 6, 8, 10}) {
			t.Errorf("closed are %v, want 10 too", got)
		}
		conns[12].Busy() // becomes busy after the search has found it idle
		conns[12].Idle()
		conns[14].Begin()
		conns[14].Idle() // like a call that ends while another one begins
		for range 3 {
			c.CloseIdle()
		}
		if pipes[12].isClosed() {
			t.Error("12 is closed although it was used since it was found idle")
		}
		time.Sleep(time.Minute)
		for range 30 {
			c.CloseIdle()
		}
		for i, p := range pipes {
			if (i == 14 || i%2 == 1 && i < 18) && p.isClosed() {
				t.Errorf("%d is closed although it is busy", i)
			}
		}
		if got := closed(); len(got) != 13 {
			t.Errorf("%v are closed, want 13, all but the 10 busy ones", got)
		}
	})
}

// TestFewConnectionsStay checks that no connection is closed if the bound is below 10, because a tenth of it is less
// than one.
func TestFewConnectionsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := peers.NewConns(9, peers.Rule{})
		for range 9 {
			c.Admit(newPipe("192.0.2.1:1"))
		}
		time.Sleep(time.Hour)
		if _, verdict := c.Admit(newPipe("192.0.2.1:1")); verdict != peers.Full {
			t.Errorf("%d, want full", verdict)
		}
	})
}

// TestConnsHaveShares (regression: bug 70): the connections of one peer leave room for others. Closing a connection frees
// its place, but only the first time.
func TestConnsHaveShares(t *testing.T) {
	c := peers.NewConns(8, peers.Rule{Percent: 25})
	first, _ := c.Admit(newPipe("192.0.2.1:1"))
	c.Admit(newPipe("192.0.2.1:2"))
	if _, verdict := c.Admit(newPipe("192.0.2.1:3")); verdict != peers.OverShare {
		t.Errorf("a third connection of a peer: %d", verdict)
	}
	if _, verdict := c.Admit(newPipe("192.0.2.2:1")); verdict != peers.Granted {
		t.Errorf("another peer: %d", verdict)
	}
	_ = first.Close()
	_ = first.Close()
	first.Release()
	for i, want := range []peers.Verdict{peers.Granted, peers.OverShare} {
		if _, verdict := c.Admit(newPipe(fmt.Sprintf("192.0.2.1:%d", 10+i))); verdict != want {
			t.Errorf("after one was closed: %d, want %d", verdict, want)
		}
	}
}

// TestAddressOfAConnection checks that a peer's address leads to its connection, even through TLS, and that it is
// formatted like the plain address.
func TestAddressOfAConnection(t *testing.T) {
	c := peers.NewConns(8, peers.Rule{})
	conn, _ := c.Admit(newPipe("[2001:db8::1]:99"))
	secured := tls.Server(conn, &tls.Config{MinVersion: tls.VersionTLS12})
	address := secured.RemoteAddr()
	if peers.Of(address) != conn || address.String() != "[2001:db8::1]:99" || peers.Peer(address) != netip.MustParseAddr("2001:db8::1") {
		t.Errorf("%v is the address of %v, of the peer %v", address, peers.Of(address), peers.Peer(address))
	}
	socket := &net.UnixAddr{Name: "/run/s", Net: "unix"}
	if peers.Of(socket) != nil || peers.Peer(socket).IsValid() || !peers.IsSocket(socket) || peers.IsSocket(address) {
		t.Error("a socket is read as another address")
	}
	if peers.Peer(nil).IsValid() {
		t.Error("no address has a peer")
	}
	var none *peers.Conn // for a listener without a limit
	none.Begin()
	none.End()
	peers.State(newPipe("192.0.2.1:1"), http.StateIdle)
}
