package resp_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/server/internal/peers"
	"github.com/headgate/headgate/server/internal/resp"
)

const full = "-ERR max number of clients reached\r\n"

// TestPeersHaveAShare (regression: bug 70): the connections of one peer leave room for others. A trusted proxy is exempt.
func TestPeersHaveAShare(t *testing.T) {
	proxy := netip.MustParsePrefix("10.0.0.0/8")
	inBubble(t, resp.Config{MaxConns: 20, Peers: peers.Rule{Percent: 25, Exempt: proxy.Contains}}, func(t *testing.T, _ *resp.Server, l *listener) {
		var first net.Conn
		for i := range 5 {
			client := l.dialFrom(fmt.Sprintf("[2001:db8::%d]:1000", i))
			if got := exchange(t, client, "PING\r\n"); got != "+PONG\r\n" {
				t.Errorf("connection %d of a peer: %q", i, got)
			}
			if first == nil {
				first = client
			}
		}
		if got := readToEnd(t, l.dialFrom("[2001:db8::99]:1000")); got != full {
			t.Errorf("a connection beyond the share: %q", got)
		}
		for i := range 8 {
			if got := exchange(t, l.dialFrom(fmt.Sprintf("10.0.0.1:%d", 1000+i)), "PING\r\n"); got != "+PONG\r\n" {
				t.Errorf("connection %d of a proxy: %q", i, got)
			}
		}
		if got := exchange(t, l.dialFrom("[2001:db8:0:1::1]:1000"), "PING\r\n"); got != "+PONG\r\n" {
			t.Errorf("another peer: %q", got)
		}
		exchange(t, first, "QUIT\r\n")
		readToEnd(t, first)
		synctest.Wait()
		if got := exchange(t, l.dialFrom("[2001:db8::99]:1000"), "PING\r\n"); got != "+PONG\r\n" {
			t.Errorf("after a connection of the peer has ended: %q", got)
		}
	})
}

// TestIdleConnectionsMakeRoom (regression: bug 70): while at most a tenth of the connections are free, a new connection
// closes the one that has been idle the longest, so that idle clients cannot lock others out.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	a := &fakeDecider{wait: func(context.Context) { time.Sleep(time.Hour) }} // the store is slow
	inBubble(t, resp.Config{MaxConns: 20, Decisions: a.decisions(), Decide: a.decide}, func(t *testing.T, _ *resp.Server, l *listener) {
		running, decided := l.dialFrom("192.0.2.99:1000"), make(chan struct{})
		go func() {
			defer close(decided)
			if got := exchange(t, running, "ask a\r\n"); got == "" || got[0] == '-' {
				t.Errorf("the client whose command was running: %q", got)
			}
		}()
		synctest.Wait()
		var clients []net.Conn
		for i := range 17 {
			clients = append(clients, l.dialFrom(fmt.Sprintf("192.0.2.%d:1000", i)))
			synctest.Wait()
			time.Sleep(time.Second)
		}
		exchange(t, clients[0], "PING\r\n")     // makes this connection the most recently used
		fmt.Fprint(clients[1], "*1\r\n$4\r\nP") // a client in the middle of a command is not idle
		time.Sleep(2 * time.Second)
		for i := range 40 {
			client := l.dialFrom(fmt.Sprintf("192.0.3.%d:1000", i))
			if got := exchange(t, client, "PING\r\n"); got != "+PONG\r\n" {
				t.Fatalf("connection %d beyond nine tenths: %q", i, got)
			}
			if i == 14 {
				for j, rest := range []string{"PING\r\n", "ING\r\n"} {
					if got := exchange(t, clients[j], rest); got != "+PONG\r\n" {
						t.Errorf("client %d, which was used last: %q", j, got)
					}
				}
				for j, client := range clients[2:] {
					if got := readToEnd(t, client); got != "" {
						t.Errorf("idle client %d: %q", 2+j, got)
					}
				}
			}
			time.Sleep(time.Second)
		}
		<-decided
	})
}
