package gateway

import (
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate/server/internal/peers"
)

// SetMostInFlight replaces maxInFlight. Call it before the first request.
func (g *Gateway) SetMostInFlight(n int) { g.inFlight = peers.NewShares(n, g.config.Peers) }

// Escape encodes a gRPC message for a header.
var Escape = escape

// SetUnreadWait replaces unreadWait. Call it before the first request.
func (g *Gateway) SetUnreadWait(d time.Duration) { g.unreadWait = d }

// SetBodyWindow replaces bodyWindow. Call it before the first request.
func (g *Gateway) SetBodyWindow(d time.Duration) { g.bodyWindow = d }

// Stats are a gateway's counts.
type Stats struct {
	InFlight, Waiting                int64
	Full, InFlightOver, WaitingOver  uint64
	Waited, Left, QueueFull          uint64
	Undone, UndoFailed               uint64
	UnmatchedPassed, UnmatchedDenied uint64
	Upstreams                        []UpstreamStats // sorted by name
}

// UpstreamStats are the counts of one upstream, with its limiter's status.
type UpstreamStats struct {
	Name                               string
	Answers                            [6]uint64
	Away, Slow, ClientGone, Overloaded uint64
	Limit, Suggest                     int
}

// Stats returns the counts.
func (g *Gateway) Stats() Stats {
	c := &g.stats
	s := Stats{
		InFlight: int64(g.inFlight.Held()), Waiting: int64(g.waiting.Held()),
		Full: c.Full.Load(), InFlightOver: c.InFlightOver.Load(), WaitingOver: c.WaitingOver.Load(),
		Waited: c.Waited.Load(), Left: c.Left.Load(), QueueFull: c.QueueFull.Load(),
		Undone: c.Undone.Load(), UndoFailed: c.UndoFailed.Load(), UnmatchedPassed: c.UnmatchedPassed.Load(), UnmatchedDenied: c.UnmatchedDenied.Load(),
	}
	for name, value := range g.upstreams.Range {
		u := value.(*upstream)
		one := UpstreamStats{Name: name.(string), Away: u.away.Load(), Slow: u.slow.Load(), ClientGone: u.clientGone.Load(), Overloaded: u.overloaded.Load()}
		if l := u.limiter.Load(); l != nil {
			status := l.Status()
			one.Limit, one.Suggest = status.Limit, status.Suggest
			one.Overloaded += uint64(status.Denied)
		}
		for i := range u.classes {
			one.Answers[i] = u.classes[i].Load()
		}
		s.Upstreams = append(s.Upstreams, one)
	}
	slices.SortFunc(s.Upstreams, func(a, b UpstreamStats) int { return strings.Compare(a.Name, b.Name) })
	return s
}
