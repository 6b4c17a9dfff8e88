// Package peers gives each peer address a share of a bound on connections, requests or calls, so that one client
// cannot take everything (regression: bug 70).
//
// A peer is the address at the other end of a connection. IPv6 addresses are counted by /64, because one client
// usually has a whole network of that size. Trusted proxies are exempt, because they act for many clients. Peers
// without an address, on a Unix socket, are also exempt.
//
//	shares.go    how much of a bound each peer holds
//	conns.go     the connections of a listener, ordered by idle time
//	addr.go      addresses of peers
package peers

import (
	"net/netip"
	"sync"
)

// DefaultPercent is one peer's default share of a bound, in percent.
const DefaultPercent = 25

// Rule configures a peer's share.
type Rule struct {
	// Percent is one peer's share of the bound, from 1 to 100. 0 means 100: one peer may take everything.
	Percent int
	// Exempt reports whether a peer may exceed the share. If it is nil, no peer may.
	Exempt func(peer netip.Addr) bool
}

// of returns a peer's share of a bound, but at least 1.
func (r *Rule) of(most int) int {
	if r.Percent <= 0 || r.Percent >= 100 {
		return most
	}
	return max(1, most*r.Percent/100)
}

// Verdict states whether a peer gets a place and, if not, why.
type Verdict int

// The possible verdicts.
const (
	Granted   Verdict = iota
	Full              // all places are taken
	OverShare         // the peer already has its share
)

// Shares counts the places taken under a bound, in total and for each peer with a share. It is safe for concurrent
// use.
type Shares struct {
	most, each int
	exempt     func(netip.Addr) bool

	mu   sync.Mutex
	held int
	by   map[netip.Addr]int // only peers that hold places
}

// NewShares returns the shares of a bound. All places are free.
func NewShares(most int, r Rule) *Shares {
	return &Shares{most: most, each: r.of(most), exempt: r.Exempt, by: map[netip.Addr]int{}}
}

// Place is a place held by a peer. The zero Place means none.
type Place struct {
	of   *Shares
	peer netip.Addr // the zero Addr if no share applies to the peer
}

// Take takes a place for a peer. The argument peer is the zero Addr if the peer has no address. The caller must free
// the place.
func (s *Shares) Take(peer netip.Addr) (Place, Verdict) {
	p := Place{of: s}
	if peer.IsValid() && s.each < s.most && (s.exempt == nil || !s.exempt(peer)) {
		p.peer = group(peer)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.held >= s.most:
		return Place{}, Full
	case !p.peer.IsValid():
	case s.by[p.peer] >= s.each:
		return Place{}, OverShare
	default:
		s.by[p.peer]++
	}
	s.held++
	return p, Granted
}

// Free frees the place.
func (p Place) Free() {
	s := p.of
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held--
	if !p.peer.IsValid() {
		return
	}
	if s.by[p.peer]--; s.by[p.peer] == 0 {
		delete(s.by, p.peer)
	}
}

// Held returns the number of taken places.
func (s *Shares) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// Most returns the bound on the number of places.
func (s *Shares) Most() int { return s.most }

// Share returns the number of places that a peer can take unless it is exempt.
func (s *Shares) Share() int { return s.each }
