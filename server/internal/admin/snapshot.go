package admin

import (
	"fmt"
	"net/http"
	"time"

	"github.com/headgate/headgate/adapter/outcomes"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/feed"
	"github.com/headgate/headgate/server/internal/metrics"
	"github.com/headgate/headgate/server/internal/topkeys"
)

// Bounds of a snapshot.
const (
	// topShown is the number of top keys of each kind in a snapshot.
	topShown = 20
	// maxMembers is the maximum number of processes named in a snapshot.
	maxMembers = 100
)

// counted holds the counts at one instant.
type counted struct {
	at       time.Time
	policies map[string]metrics.Tally
	latency  metrics.Latency
}

// FeedConfig configures a server's feed.
type FeedConfig struct {
	Metrics *metrics.Metrics
	Top     *topkeys.Tracker
	// Store is the store with its layers, and Address is its URL without user and password.
	Store   engine.Store
	Address string
	// Server describes this server.
	Server func() *adminapi.Server
	// Outage returns the state of the store.
	Outage func() metrics.Outage
	// Generation, Policies and Changes are as in [metrics.Server].
	Generation        func() uint64
	Policies, Changes func() int
}

// source reads the data for a server's feed.
type source struct {
	config FeedConfig
	last   counted
}

// NewFeed returns a feed that reads the server's data until the feed is closed.
func NewFeed(c FeedConfig) *feed.Feed {
	f := &source{config: c, last: counted{at: time.Now(), policies: map[string]metrics.Tally{}}}
	return feed.New(feed.Config{Read: f.read, Stand: f.stand})
}

// read reads the counters, and returns the rates since the previous reading.
func (f *source) read(now time.Time) adminapi.Second {
	elapsed := max(now.Sub(f.last.at).Seconds(), 0.001)
	rate := func(n uint64) float64 { return float64(n) / elapsed }
	s := adminapi.NewSecond(now)
	f.config.Metrics.Decisions(func(name string, t *metrics.Tally) {
		before := f.last.policies[name]
		if *t == before {
			return
		}
		f.last.policies[name] = *t
		of := func(o outcomes.Outcome) float64 { return rate(t.Sum(o) - before.Sum(o)) }
		s.Add(name, adminapi.Rates{Allowed: of(outcomes.Allowed), Denied: of(outcomes.Denied), Unknown: of(outcomes.Unknown), Invalid: of(outcomes.Invalid)})
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

// stand returns the snapshot for one second.
func (f *source) stand(s *adminapi.Second, now time.Time) *adminapi.Snapshot {
	c := &f.config
	outage := c.Outage()
	answer := &adminapi.Snapshot{
		Second: *s, Server: c.Server(), Modes: s.Modes, Generation: c.Generation(), PolicyCount: c.Policies(), ChangeCount: c.Changes(),
		TopRequests: topNow(c.Top, topkeys.Requests, now), TopDenials: topNow(c.Top, topkeys.Denials, now),
		Store:     adminapi.Store{Address: c.Address, Away: outage.Away, Class: outage.Class, AwayFor: outage.For.Milliseconds(), Outages: outage.Outages, Unknown: outage.Unknown},
		Processes: adminapi.Processes{Members: []string{}}, InvalidFiles: invalidFiles(c.Metrics.InvalidFiles),
	}
	for store := range engine.Layers(c.Store) {
		layer(answer, store)
	}
	return answer
}

// layer adds the state of one layer, or of the innermost store, to a snapshot.
func layer(s *adminapi.Snapshot, store engine.Store) {
	switch store := store.(type) {
	case *memstore.Store:
		keys := store.Stats().Keys
		s.Store.Keys = &keys
	case *prefetch.Store:
		stats := store.Stats()
		s.Processes.Leases = &adminapi.Leases{Taken: stats.Taken, Spent: stats.Spent, Returned: stats.Returned, Lost: stats.Lost, Processes: stats.Members}
	case *fallback.Store:
		stats := store.Stats()
		own, members := store.Members()
		s.Processes.Count, s.Store.Losses, s.Processes.Self = stats.Processes, stats.Losses, own
		if stats.DoubtedUntil.After(time.Now()) {
			s.Store.DoubtedUntil = stats.DoubtedUntil.UTC()
		}
		s.Processes.Members = append(s.Processes.Members, members[:min(len(members), maxMembers)]...)
	}
}

// Describe returns a server's name and the number of servers that share its store, which is 0 if unknown.
func Describe(name string, store engine.Store) *adminapi.Server {
	s := adminapi.Server{Name: name}
	for layer := range engine.Layers(store) {
		switch layer := layer.(type) {
		case *memstore.Store:
			s.Of = 1
		case *fallback.Store:
			if _, members := layer.Members(); len(members) > 0 {
				s.Of = len(members)
				return &s
			}
			s.Of = layer.Stats().Processes
			return &s
		}
	}
	return &s
}

// topNow returns the keys with the highest counts in the last 10 to 20 s.
func topNow(t *topkeys.Tracker, of topkeys.Events, now time.Time) adminapi.TopKeys {
	report := t.Top(topkeys.Query{Of: of, Now: true, Most: topShown}, now)
	return report.JSON(of)
}

// events serves the stream of events. The stream ends when the caller would no longer be accepted. If there are too
// many streams, the status is 503.
func (a *api) events(w http.ResponseWriter, r *http.Request) {
	n, err := adminapi.Number(r, "n", 0, feed.MaxSnapshots)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	valid := func() bool {
		_, status, _ := a.guard.check(r)
		return status == 0
	}
	if !a.Feed.Serve(w, r, n, valid) {
		wire.NewProblem(http.StatusServiceUnavailable, "", fmt.Sprintf("there are %d streams of events already, or the server stops; accepted: a call when one of them has ended", feed.MaxStreams)).Write(w)
	}
}
