package dashboard

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/dashboard/feed"
	"github.com/headgate/headgate/dashboard/topkeys"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/adminapi"
	"github.com/headgate/headgate/internal/outcomes"
)

// frontEnd is the name of the front end in a program's timelines.
const frontEnd = "library"

// Program is a read-only page for a program with its own limiter: the limiter's decisions, its top keys, and the state
// of a key under each policy. Only a server's page shows latency, processes and changes.
//
//	page := dashboard.New()
//	defer page.Close()
//	limiter := headgate.New(headgate.WithObserver(page.Observe))
//	page.Show(limiter.Policy("per-user", headgate.TokenBucket{Rate: headgate.PerSecond(10)}))
//	mux.Handle("/limits/", http.StripPrefix("/limits", page))
//
// The page shows keys but does not authenticate requests, so the program must add its own authentication. It serves the
// calls in docs/reference/admin.yaml that work without a server. Counting adds about 0.2 µs to a decision, and needs at
// most 24 MiB.
type Program struct {
	mux  *http.ServeMux
	feed *feed.Feed
	top  *topkeys.Tracker
	rows *outcomes.Map[*policyCounters]

	mu       sync.Mutex
	all      []*policyCounters
	policies map[string]*headgate.Policy

	// Only the feed's goroutine uses these fields.
	last    map[*policyCounters]rowCounts
	since   time.Time
	away    time.Time // start of the outage; zero if the last decisions were known
	outages int64
}

// policyCounters holds the counts for one policy.
type policyCounters struct {
	policy string
	counts outcomes.Table[atomic.Uint64]
}

// rowCounts holds the values of a policy's counters at one reading.
type rowCounts [outcomes.Count][outcomes.Modes]uint64

// New returns a page for a program. The caller closes it.
func New() *Program {
	p := &Program{mux: http.NewServeMux(), top: topkeys.New(), policies: map[string]*headgate.Policy{}, last: map[*policyCounters]rowCounts{}, since: time.Now()}
	p.rows = outcomes.NewMap(p.add)
	p.feed = feed.New(feed.Config{Read: p.read, Stand: p.stand})
	p.routes()
	return p
}

// Close ends the page's streams. It is idempotent.
func (p *Program) Close() { p.feed.Close() }

// ServeHTTP serves the page and its calls. See [Handler] for the paths.
func (p *Program) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// Show adds policies to the page, which lists their limits and explains keys under them. A policy replaces an earlier
// policy with the same name.
func (p *Program) Show(policies ...*headgate.Policy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range policies {
		p.policies[one.Name()] = one
	}
}

// shown returns the policies added with Show, sorted by name.
func (p *Program) shown() []*headgate.Policy {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*headgate.Policy
	for _, one := range p.policies {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *headgate.Policy) int { return strings.Compare(a.Name(), b.Name()) })
	return all
}

func (p *Program) add(policy string) *policyCounters {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &policyCounters{policy: policy}
	p.all = append(p.all, r)
	return r
}

// Observe counts a request. Pass it to [headgate.WithObserver].
func (p *Program) Observe(_ context.Context, r *headgate.Result) {
	if r.Shadow {
		return
	}
	counts := p.rows.Named(r.Policy)
	counts.counts.At(r.Decision.Allowed, r.Decision.Promise.Mode, r.Err).Add(1)
	now, denied := time.Now(), r.Err == nil && !r.Decision.Allowed
	of := topkeys.Subject{Policy: counts.policy, Key: r.Key}
	p.top.Add(topkeys.Requests, 1, now, func(_ int, n int64) (topkeys.Subject, bool) {
		if !denied {
			p.top.Record(of, event(r, now, n))
		}
		return of, true
	})
	if denied {
		p.top.Add(topkeys.Denials, 1, now, func(_ int, n int64) (topkeys.Subject, bool) {
			p.top.Record(of, event(r, now, n))
			return of, true
		})
	}
}

func event(r *headgate.Result, now time.Time, counts int64) *topkeys.Event {
	e := &topkeys.Event{At: now, Failed: r.Err != nil, Cost: r.Units, From: frontEnd, Counts: counts}
	if d := &r.Decision; r.Err == nil {
		e.Allowed, e.Mode, e.Limit, e.Remaining, e.RetryAfter = d.Allowed, d.Promise.Mode, d.Limit, d.Remaining, d.RetryAfter
	}
	return e
}

// read returns the rates of decisions per second since the last call. It also updates the outage.
func (p *Program) read(now time.Time) adminapi.Second {
	elapsed := max(now.Sub(p.since).Seconds(), 0.001)
	p.since = now
	p.mu.Lock()
	rows := slices.Clone(p.all)
	p.mu.Unlock()
	s := adminapi.NewSecond(now)
	for _, r := range rows {
		var counts rowCounts
		var sums [outcomes.Count]float64
		before := p.last[r]
		for o := range counts {
			for mode := range counts[o] {
				counts[o][mode] = r.counts[o][mode].Load()
				rate := float64(counts[o][mode]-before[o][mode]) / elapsed
				sums[o] += rate
				if rate > 0 && outcomes.Outcome(o) <= outcomes.Denied {
					s.Modes[engine.Mode(mode).String()] += rate
				}
			}
		}
		if counts != before {
			p.last[r] = counts
			s.Add(r.policy, adminapi.Rates{Allowed: sums[outcomes.Allowed], Denied: sums[outcomes.Denied], Unknown: sums[outcomes.Unknown], Invalid: sums[outcomes.Invalid]})
		}
	}
	s.KeepBusiest()
	switch {
	case s.Allowed+s.Denied > 0:
		p.away = time.Time{}
	case s.Unknown > 0 && p.away.IsZero():
		p.away = now
		p.outages++
	}
	return s
}
