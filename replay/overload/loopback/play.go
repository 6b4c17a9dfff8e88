package loopback

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/headgate/headgate/replay/overload/model"
)

// Limits on a run in real time.
const (
	MaxLength   = time.Minute
	MaxRate     = 1000 // requests per second from all clients together
	maxInflight = 2000
)

// Count holds the number of calls by outcome.
type Count struct {
	// Good calls were answered within the deadline, Denied calls were denied by the gate, and Late calls were not
	// answered in time. Unsent calls were not sent because too many were in progress.
	Good, Denied, Late, Unsent int
}

// Sum returns the number of calls.
func (c Count) Sum() int { return c.Good + c.Denied + c.Late + c.Unsent }

// Goodput returns the share of the calls that were answered in time.
func (c Count) Goodput() float64 { return float64(c.Good) / float64(max(c.Sum(), 1)) }

// Play sends the requests of the configuration's first client, which must be open and not retry, and returns when the
// last request has ended. The rate and the slowdown change as configured, but the number of workers stays at its
// initial value. CPU, contention, pauses and neighbours are ignored.
func Play(ctx context.Context, c model.Config, g model.Gate) (Count, error) {
	length := time.Duration(c.Length) * time.Microsecond
	switch {
	case length <= 0 || length > MaxLength:
		return Count{}, fmt.Errorf("loopback: a run of %s, want up to %s", length, MaxLength)
	case len(c.Clients) != 1 || c.Clients[0].Users != 0 || c.Clients[0].Retry.Max != 0 || c.AtClient:
		return Count{}, errors.New("loopback: want one open client without retries, and the gate at the server")
	}
	s := newServer(&c, g)
	real := httptest.NewServer(s)
	defer real.Close()
	p := &player{url: real.URL, started: s.started, deadline: time.Duration(c.Clients[0].Deadline) * time.Microsecond}
	p.places = make(chan struct{}, maxInflight)
	p.client = newClient()
	defer p.client.CloseIdleConnections()
	err := p.send(ctx, &c)
	p.all.Wait()
	return p.count, err
}

// player sends the requests of a run and counts their outcomes.
type player struct {
	url      string
	started  time.Time
	deadline time.Duration
	client   httpClient
	places   chan struct{} // a semaphore for requests in progress
	all      sync.WaitGroup

	mu    sync.Mutex
	count Count
}

// end counts a call whose outcome is known. The function add increments one of the counts.
func (p *player) end(add func(*Count)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	add(&p.count)
}
