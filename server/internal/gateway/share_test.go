package gateway_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/server/internal/gateway"
	"github.com/headgate/headgate/server/internal/peers"
)

// half limits a client address to half of each bound.
func half(c *gateway.Config) {
	c.Peers = peers.Rule{Percent: 50, Exempt: c.Service.Proxies().Trusts}
}

const unlimited = `
policies: {all: 1000/s}
routes: [{key: [{const: all}], policies: [all]}]
`

// TestOneClientLeavesRoom (regression: bug 70): requests beyond a client's share get a 503, over one connection or many.
// The client is the address named by a trusted proxy or, if there is no such proxy, the peer. The share does not apply
// to requests from the proxy itself.
func TestOneClientLeavesRoom(t *testing.T) {
	clear := &http.Transport{Protocols: new(http.Protocols)}
	clear.Protocols.SetUnencryptedHTTP2(true)
	for _, transport := range []*http.Transport{new(http.Transport), clear} {
		arrived, release := make(chan struct{}, 20), make(chan struct{})
		set := to(t, upstream(t, func(http.ResponseWriter, *http.Request) {
			arrived <- struct{}{}
			<-release
		}))
		g := start(t, unlimited, func(c *gateway.Config) { set(c); half(c) })
		letGo := sync.OnceFunc(func() { close(release) })
		defer letGo()
		g.client.Transport = transport
		g.SetMostInFlight(6)
		answers := make(chan answer, 6)
		runs := func(headers ...string) {
			go func() { answers <- g.send("GET", "/", headers...) }()
			select {
			case <-arrived:
			case <-time.After(20 * time.Second):
				t.Fatalf("a request with %q did not reach the upstream", headers)
			}
		}
		for range 3 {
			runs("X-Forwarded-For: 2001:db8::1")
		}
		for _, client := range []string{"2001:db8::1", "2001:db8::ffff:2", "192.0.2.1, 2001:db8::1"} {
			got := g.send("GET", "/", "X-Forwarded-For: "+client)
			if got.status != 503 || got.header.Get("Retry-After") != "1" || got.header.Get("Content-Type") != "application/problem+json" ||
				!strings.Contains(got.body, "this client address has as many requests at once as it can have; accepted: up to 3") {
				t.Fatalf("beyond the share, as %s: %+v", client, got)
			}
		}
		if got := g.send("POST", "/", "X-Forwarded-For: 2001:db8::1", "Content-Type: application/grpc"); got.status != 200 || got.header.Get("Grpc-Status") != "14" {
			t.Errorf("beyond the share, over gRPC: %+v", got)
		}
		runs("X-Forwarded-For: 2001:db8:0:1::1") // another client
		runs()                                   // the proxy
		runs()
		if got := g.send("GET", "/", "X-Forwarded-For: 192.0.2.7"); got.status != 503 || !strings.Contains(got.body, "the gateway has as many requests at once as it can have; accepted: up to 6") {
			t.Errorf("beyond all: %+v", got)
		}
		letGo()
		for range 6 {
			if got := <-answers; got.status != 200 {
				t.Errorf("%+v", got)
			}
		}
		until(t, "all have ended", func() bool { return g.Stats().InFlight == 0 })
		if s := g.Stats(); s.InFlightOver != 4 || s.Full != 1 || s.WaitingOver != 0 {
			t.Errorf("%+v", s)
		}
		transport.CloseIdleConnections()
	}
}

// TestClientsOfUntrustedProxiesShare checks that a peer that is not a trusted proxy has one share, regardless of the
// clients that it names.
func TestClientsOfUntrustedProxiesShare(t *testing.T) {
	arrived, release := make(chan struct{}, 20), make(chan struct{})
	set := to(t, upstream(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	g := start(t, "trusted_proxies: []\n"+unlimited, func(c *gateway.Config) { set(c); half(c) })
	g.SetMostInFlight(2)
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	first := make(chan answer, 1)
	go func() { first <- g.send("GET", "/", "X-Forwarded-For: 192.0.2.1") }()
	<-arrived
	if got := g.send("GET", "/", "X-Forwarded-For: 192.0.2.2"); got.status != 503 || !strings.Contains(got.body, "accepted: up to 1") {
		t.Errorf("%+v", got)
	}
	letGo()
	if got := <-first; got.status != 200 {
		t.Errorf("%+v", got)
	}
}

// TestOneClientLeavesWaitingPlaces (regression: bug 70): a client's requests beyond its share of the waiting slots get a
// 503 and their units are returned, while another client's requests can still wait.
func TestOneClientLeavesWaitingPlaces(t *testing.T) {
	set := to(t, upstream(t, func(http.ResponseWriter, *http.Request) {}))
	g := start(t, `
policies: {slow: {algorithm: pacer, rate: 1/h, max_wait: 100h}, day: 10/d}
routes: [{key: [client_ip], policies: [slow, day]}]
`, func(c *gateway.Config) { set(c); half(c); c.MaxWaiting = 4 })
	const a, b = "192.0.2.1", "192.0.2.2"
	for _, client := range []string{a, b} {
		if got := g.send("GET", "/", "X-Forwarded-For: "+client); got.status != 200 {
			t.Fatalf("%+v", got)
		}
	}
	answers := make(chan answer, 3)
	waits := func(client string, n int64) {
		go func() { answers <- g.send("GET", "/", "X-Forwarded-For: "+client) }()
		until(t, "it waits", func() bool { return g.Stats().Waiting == n })
	}
	waits(a, 1)
	waits(a, 2)
	got := g.send("GET", "/", "X-Forwarded-For: "+a)
	if got.status != 503 || got.header.Get("Retry-After") == "" || !strings.Contains(got.body, "as many requests of this client address wait for their turn as can wait; accepted: up to 2") {
		t.Errorf("%+v", got)
	}
	if left := g.remaining("day", a); left != 7 {
		t.Errorf("%d left, want 7: three have come and waited", left)
	}
	waits(b, 3)
	if s := g.Stats(); s.WaitingOver != 1 || s.QueueFull != 1 || s.Undone != 1 {
		t.Errorf("%+v", s)
	}
	g.Close()
	for range 3 {
		<-answers
	}
}
