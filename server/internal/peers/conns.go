package peers

import (
	"cmp"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// leastIdle is how long a connection must have been idle before it is closed. A new client has this long to send
	// its first request.
	leastIdle = time.Second
	// scanEvery is the minimum time between two searches for idle connections.
	scanEvery = 100 * time.Millisecond
)

// Conns holds the connections of a listener, with a share for each peer. While at most a tenth of the places are
// free, each new connection closes the connection that has been idle the longest. If the bound is below 10, no
// connection is closed.
type Conns struct {
	shares *Shares
	tenth  int // a tenth of the bound; idle connections are closed while at most this many places are free
	began  time.Time
	// stopped is set when the listener has been closed.
	stopped atomic.Bool

	mu      sync.Mutex
	open    map[*Conn]struct{}
	idle    []candidate // found by the last search, longest idle first
	scanned time.Time
	freed   chan struct{} // receives a value after a place is freed
}

// candidate is a connection that was idle when it was found.
type candidate struct {
	conn  *Conn
	since int64
}

// NewConns returns an empty Conns. The argument most is the maximum number of connections.
func NewConns(most int, r Rule) *Conns {
	return &Conns{shares: NewShares(most, r), tenth: most / 10, began: time.Now(), open: map[*Conn]struct{}{}, freed: make(chan struct{}, 1)}
}

// Conn is a connection that occupies a place. It is idle until Busy or Begin is called. A nil Conn is not counted.
type Conn struct {
	net.Conn

	of    *Conns
	addr  Addr
	place Place
	since atomic.Int64 // when it became idle, in ns after Conns.began; 0 while it is busy
	calls atomic.Int64 // calls in progress

	answering atomic.Bool // an HTTP request is in progress
}

// Admit counts a connection. If the verdict is not Granted, the caller must close the connection.
func (c *Conns) Admit(nc net.Conn) (*Conn, Verdict) {
	peer := nc.RemoteAddr()
	admitted := &Conn{Conn: nc, of: c}
	admitted.addr = Addr{Addr: peer, conn: admitted}
	admitted.Idle()
	c.mu.Lock()
	place, verdict := c.shares.Take(Peer(peer))
	var longest *Conn
	if free := c.shares.most - len(c.open); free <= c.tenth && verdict != OverShare {
		longest = c.takeIdle()
	}
	if verdict == Full && longest != nil {
		place, verdict = c.shares.Take(Peer(peer))
	}
	if verdict == Granted {
		admitted.place = place
		c.open[admitted] = struct{}{}
	}
	c.mu.Unlock()
	longest.end()
	if verdict != Granted {
		return nil, verdict
	}
	return admitted, Granted
}

// Full reports whether all places are taken.
func (c *Conns) Full() bool { return c.shares.Held() >= c.shares.most }

// Room waits until a place is free, and closes idle connections while it waits. It returns false when done is closed.
// Only one goroutine may call it.
func (c *Conns) Room(done <-chan struct{}) bool {
	again := time.NewTicker(scanEvery)
	defer again.Stop()
	for c.Full() {
		c.CloseIdle()
		select {
		case <-c.freed:
		case <-done:
			return false
		case <-again.C:
		}
	}
	return true
}

// CloseIdle closes the connection that has been idle the longest, if any.
func (c *Conns) CloseIdle() {
	c.mu.Lock()
	longest := c.takeIdle()
	c.mu.Unlock()
	longest.end()
}

// takeIdle removes and returns the connection that has been idle the longest. It returns nil if none has been idle for
// leastIdle. The caller holds mu.
func (c *Conns) takeIdle() *Conn {
	now := time.Now()
	if c.tenth == 0 {
		return nil
	}
	if len(c.idle) == 0 && now.Sub(c.scanned) >= scanEvery {
		c.scan(now)
	}
	for len(c.idle) > 0 {
		found := c.idle[0]
		c.idle = c.idle[1:]
		if _, open := c.open[found.conn]; open && found.conn.since.Load() == found.since && found.conn.calls.Load() == 0 {
			c.remove(found.conn)
			return found.conn
		}
	}
	return nil
}

// scan finds the idle connections. The caller holds mu.
func (c *Conns) scan(now time.Time) {
	c.scanned, c.idle = now, nil
	latest := int64(now.Sub(c.began) - leastIdle)
	for conn := range c.open {
		if since := conn.since.Load(); since != 0 && since <= latest {
			c.idle = append(c.idle, candidate{conn, since})
		}
	}
	slices.SortFunc(c.idle, func(a, b candidate) int { return cmp.Compare(a.since, b.since) })
}

// remove frees a connection's place. The caller holds mu.
func (c *Conns) remove(conn *Conn) {
	if _, open := c.open[conn]; open {
		delete(c.open, conn)
		conn.place.Free()
		select {
		case c.freed <- struct{}{}:
		default:
		}
	}
}

// end closes a connection whose place has already been freed. Output that has not been sent may be lost.
func (c *Conn) end() {
	if c == nil {
		return
	}
	if secured, ok := c.Conn.(interface{ NetConn() net.Conn }); ok {
		_ = secured.NetConn().Close() // TLS would wait for a client that does not read
	}
	_ = c.Conn.Close()
}

// Release frees a connection's place without closing the connection.
func (c *Conn) Release() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.remove(c)
}

// Close closes the connection and frees its place.
func (c *Conn) Close() error {
	defer c.Release()
	if c.lingers() {
		_ = c.CloseWrite()
	}
	return c.Conn.Close()
}

// Stop records that the server is stopping, so that no Close waits for a client.
func (c *Conns) Stop() { c.stopped.Store(true) }

// RemoteAddr returns an [Addr].
func (c *Conn) RemoteAddr() net.Addr { return &c.addr }

// Idle marks the connection as waiting for its client.
func (c *Conn) Idle() {
	if c != nil {
		c.since.Store(max(1, int64(time.Since(c.of.began))))
	}
}

// Busy marks the connection as in use, so that it is not closed.
func (c *Conn) Busy() {
	if c != nil {
		c.since.Store(0)
	}
}

// Begin starts a call. Begin and End count the concurrent calls on a connection, which is idle while it has none.
func (c *Conn) Begin() {
	if c != nil {
		c.calls.Add(1)
		c.Busy()
	}
}

// End ends a call started by Begin.
func (c *Conn) End() {
	if c != nil && c.calls.Add(-1) == 0 {
		c.Idle() // a call that begins now has already been counted in calls
	}
}

// State tracks the state of an HTTP connection. It is a [http.Server.ConnState].
func State(nc net.Conn, s http.ConnState) {
	c := Of(nc.RemoteAddr())
	if c != nil {
		c.answering.Store(s == http.StateActive)
	}
	switch s {
	case http.StateActive, http.StateHijacked:
		c.Busy()
	case http.StateIdle:
		c.Idle()
	case http.StateNew, http.StateClosed:
	}
}
