package admin

import (
	"fmt"
	"net/http"
	"time"

	"github.com/headgate/headgate/dashboard/feed"
	core "github.com/headgate/headgate/dashboard/topkeys"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/internal/outcomes"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/server/metrics"
	"github.com/headgate/headgate/server/topkeys"
)

// The bounds of a snapshot.
const (
	// topShown is how many top keys of each kind a snapshot has.
	topShown = 20
	// maxMembers is how many processes a snapshot names.
	maxMembers = 100
)

// snapshot is the latest second, and how the server stands.
type snapshot struct {
	feed.Second

	// Modes are the decisions a second by mode.
	Modes      map[string]float64 `json:"modes"`
	Store      storeState         `json:"store"`
	Requests   core.ReportJSON    `json:"top_requests"`
	Refusals   core.ReportJSON    `json:"top_refusals"`
	Processes  processes          `json:"processes"`
	Generation uint64             `json:"generation"`
	Policies   int                `json:"policy_count"`
	Changes    int                `json:"change_count"`
}

// storeState is how the store stands.
type storeState struct {
	// Address is its URL without user and password.
	Address string `json:"address"`
	Away    bool   `json:"away"`
	// For is how long it has been away, in ms.
	For     int64 `json:"away_ms"`
	Outages int64 `json:"outages"`
	// Unknown is how many decisions were not known since the server started.
	Unknown int64 `json:"unknown"`
	// Losses is how often the store came back without its data.
	Losses int64 `json:"losses"`
	// Keys is how many keys the memory store has; absent of another store.
	Keys *int64 `json:"keys,omitempty"`
}

// processes are the servers that share the store.
type processes struct {
	// Count is of how many processes this one takes its share while the store is away; 0
	// is not known.
	Count int `json:"count"`
	// Members are the names of processes that beat, at most 100, and Own is that of this one.
	// Both are empty where the store is the memory of this process.
	Members []string `json:"members"`
	Own     string   `json:"own"`
	// Leases are the units that this process has taken ahead; nil if it takes none.
	Leases *leases `json:"leases"`
}

// leases are units that were taken ahead, since the server started.
type leases struct {
	Taken    int64 `json:"taken"`
	Spent    int64 `json:"spent"`
	Returned int64 `json:"returned"`
	Lost     int64 `json:"lost"`
	// Processes is how many processes share the units; 0 is not known, and then none are taken.
	Processes int `json:"processes"`
}

// counted is what was counted up to an instant.
type counted struct {
	at       time.Time
	policies map[string]metrics.Tally
	latency  metrics.Latency
}

// FeedConfig sets up the feed of a server.
type FeedConfig struct {
	Metrics *metrics.Metrics
	Top     *topkeys.Tracker
	// Store is the store with its layers, and Address its URL without user and password.
	Store   engine.Store
	Address string
	// Outage returns the state of the store.
	Outage func() metrics.Outage
	// Generation, Policies and Changes are those of [metrics.Server].
	Generation        func() uint64
	Policies, Changes func() int
}

// source is where the feed of a server reads.
type source struct {
	config FeedConfig
	last   counted
}

// NewFeed returns a feed that reads until it is closed.
func NewFeed(c FeedConfig) *feed.Feed {
	f := &source{config: c, last: counted{at: time.Now(), policies: map[string]metrics.Tally{}}}
	return feed.New(feed.Config{Read: f.read, Stand: f.stand})
}

// read reads the counters, and returns what has happened since it last did.
func (f *source) read(now time.Time) feed.Second {
	elapsed := max(now.Sub(f.last.at).Seconds(), 0.001)
	rate := func(n uint64) float64 { return float64(n) / elapsed }
	s := feed.Second{At: now.UnixMilli(), Policies: []feed.PolicyRates{}, Modes: map[string]float64{}}
	f.config.Metrics.Decisions(func(name string, t *metrics.Tally) {
		before := f.last.policies[name]
		if *t == before {
			return
		}
		f.last.policies[name] = *t
		of := func(o outcomes.Outcome) float64 { return rate(t.Sum(o) - before.Sum(o)) }
		s.Add(name, feed.Rates{Allowed: of(outcomes.Allowed), Denied: of(outcomes.Denied), Unknown: of(outcomes.Unknown), Invalid: of(outcomes.Invalid)})
		for mode := range engine.Mode(outcomes.Modes) {
			if n := t.InMode(mode) - before.InMode(mode); n > 0 {
				s.Modes[mode.String()] += rate(n)
			}
		}
	})
	s.KeepBusiest()
	latency := f.config.Metrics.Latency()
	if times, _, ok := latency.Quantiles(f.last.latency, 0.5, 0.99); ok {
		p50, p99 := times[0]*1e6, times[1]*1e6
		s.P50, s.P99 = &p50, &p99
	}
	f.last.at, f.last.latency = now, latency
	return s
}

// stand returns the snapshot of a second.
func (f *source) stand(s *feed.Second, now time.Time) any {
	c := &f.config
	outage := c.Outage()
	answer := &snapshot{
		Second: *s, Modes: s.Modes, Generation: c.Generation(), Policies: c.Policies(), Changes: c.Changes(),
		Requests: topNow(c.Top, topkeys.Requests, now), Refusals: topNow(c.Top, topkeys.Refusals, now),
		Store:     storeState{Address: c.Address, Away: outage.Away, For: outage.For.Milliseconds(), Outages: outage.Outages, Unknown: outage.Unknown},
		Processes: processes{Members: []string{}},
	}
	for store := c.Store; store != nil; {
		answer.layer(store)
		wrapper, ok := store.(interface{ Unwrap() engine.Store })
		if !ok {
			break
		}
		store = wrapper.Unwrap()
	}
	return answer
}

// layer reads one layer, or the store behind all.
func (s *snapshot) layer(store engine.Store) {
	switch store := store.(type) {
	case *memstore.Store:
		keys := store.Stats().Keys
		s.Store.Keys = &keys
	case *prefetch.Store:
		stats := store.Stats()
		s.Processes.Leases = &leases{stats.Taken, stats.Spent, stats.Returned, stats.Lost, stats.Members}
	case *fallback.Store:
		stats := store.Stats()
		own, members := store.Members()
		s.Processes.Count, s.Store.Losses, s.Processes.Own = stats.Processes, stats.Losses, own
		s.Processes.Members = append(s.Processes.Members, members[:min(len(members), maxMembers)]...)
	}
}

// topNow returns the keys with the highest counts of the last 10 to 20 s.
func topNow(t *topkeys.Tracker, of topkeys.Events, now time.Time) core.ReportJSON {
	report := t.Top(topkeys.Query{Of: of, Now: true, Most: topShown}, now)
	return report.JSON(topEvents[of])
}

// eventsPath is the path of the stream of events.
const eventsPath = "/admin/v1/events"

// events streams what happens.
func (a *api) events(w http.ResponseWriter, r *http.Request) {
	n, err := number(r, "n", 0, feed.MaxSnapshots)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	valid := func() bool {
		may, _, _ := a.guard.check(r)
		return may != nothing
	}
	if !a.Feed.Serve(w, r, n, valid) {
		httplimit.NewProblem(http.StatusServiceUnavailable, "", fmt.Sprintf("there are %d streams of events already, or the server stops; accepted: a call when one of them has ended", feed.MaxStreams)).Write(w)
	}
}
