package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/layer/denycache"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
)

// Wrap wraps a store to measure its calls.
func (m *Metrics) Wrap(store engine.Store) engine.Store { return &timed{store, m.storeCall} }

// Called records the number of operations in one store call, and the time that they waited for it: see [batch.Config].
func (m *Metrics) Called(ops int, waited time.Duration) {
	m.storeOps.Observe(float64(ops))
	m.storeWait.Observe(waited.Seconds())
}

// timed measures the calls of a store.
type timed struct {
	engine.Store

	took prometheus.Observer
}

// Do decides the operations. See [engine.Store].
func (t *timed) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	began := time.Now()
	t.Store.Do(ctx, ops, results)
	t.took.Observe(time.Since(began).Seconds())
}

// Unwrap returns the wrapped store.
func (t *timed) Unwrap() engine.Store { return t.Store }

// Outage is the state of the store from the server's point of view.
type Outage struct {
	// Away is true if the store is unavailable: it has failed and has not answered since.
	Away bool
	// For is how long the store has been unavailable. It is 0 if Away is false.
	For time.Duration
	// Outages is the number of outages so far, and Total is their total duration.
	Outages int64
	Total   time.Duration
	// Unknown is the number of undecided requests.
	Unknown int64
}

// Server collects a server's metrics from the given sources.
type Server struct {
	// Store is the store with its layers.
	Store engine.Store
	// Outage returns the store's state.
	Outage func() Outage
	// Doubted reports whether the store has lost data, and limits have not recovered yet.
	Doubted func() bool
	// Generation returns the number of times that policies have been activated. Policies returns the number of
	// policies, and Changes the number of changes on top of the file.
	Generation        func() uint64
	Policies, Changes func() int
	// WhenErrors returns the number of failed evaluations of the routes' when conditions.
	WhenErrors func() uint64
}

var (
	storeUp       = desc("store_up", "1 if the store answers, 0 while it is unavailable.")
	storeAwayFor  = desc("store_away_seconds", "How long the store has been away; 0 if it is not.")
	storeOutages  = desc("store_outages_total", "How often the store has gone away.")
	storeAway     = desc("store_away_seconds_total", "How long the store was unavailable in all outages, the current one included.")
	storeUnknown  = desc("store_unknown_total", "Operations whose decision was not known, because the store failed.")
	storeErrors   = desc("store_errors_total", "Errors of the store by class.", "class")
	roundTrips    = desc("store_round_trips_total", "Round trips to Redis.")
	storeInFlight = desc("store_calls_in_flight", "Calls of Redis that are in flight.")
	keysHeld      = desc("memory_keys", "Keys in the memory store.")
	openDesc      = desc("open_reservations", "Reservations that the store keeps until they are settled: see settle_within of policies.")
	keysMost      = desc("memory_keys_max", "The most keys that the memory store can have.")
	keysShared    = desc("memory_shared_ratio", "The used part of the room that policies share, beyond what each has to itself: 1 means that policies beyond their own part deny new keys.")
	keysDropped   = desc("memory_keys_expired_total", "Keys that the memory store dropped, because they equal an untouched limit.")
	batchOps      = desc("store_operations_total", "Operations that group commit sent to the store.")
	batchCalls    = desc("store_calls_total", "Calls that group commit made.")
	batchWaiting  = desc("store_operations_waiting", "Operations that wait for a call, or are in flight together with others.")
	batchRefused  = desc("store_queue_full_total", "Operations that found the queue of group commit full.")
	repeated      = desc("deny_cache_total", "Operations that the deny cache decided, and those that it sent on.", "result")
	leasedOps     = desc("prefetch_operations_total", "Operations that were spent from prefetched units, and those that were sent on.", "result")
	leasedUnits   = desc("prefetch_units_total", "Prefetched units: taken from the store, returned to it, and lost.", "event")
	members       = desc("prefetch_members", "Processes that share the limits; 0 is not known.")
	shares        = desc("fallback_operations_total", "Operations that were answered by this server's share of the limits, while the store was unavailable or not believed yet.")
	processes     = desc("fallback_processes", "The number of servers that divide the limits while the store is unavailable; 0 if unknown.")
	losses        = desc("fallback_losses_total", "How often the store came back without its data.")
	doubted       = desc("fallback_doubted", "1 while this server's share also decides, because the store has lost data and not all limits have recovered.")
	owed          = desc("fallback_owed", "Settlements and permits that wait to be sent to the store until it answers.")
	unsettled     = desc("fallback_unsettled_total", "Settlements that did not reach the store in time; their units stay spent.")
	generation    = desc("policies_generation", "How often policies were put in force since the server started.")
	whenErrors    = desc("route_when_errors_total", "Evaluations of when conditions that failed, or that cost too much. Begins anew where the routes change.")
	policiesDesc  = desc("policies", "Policies in force.")
	changesDesc   = desc("policy_changes", "Changes in force on top of the policies file.")
	invalidDesc   = desc("policy_file_invalid", "1 while the policies file or Envoy configuration has errors, and the last valid one stays in force.")
	reloadsDesc   = desc("policy_reloads_total", "How often policies were put in force, and how often that failed.", "result")
)

// Describe implements [prometheus.Collector]. It sends nothing, because the metrics depend on the store. They are
// checked at each scrape instead.
func (s *Server) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (s *Server) Collect(to chan<- prometheus.Metric) {
	o := s.Outage()
	to <- gauge(storeUp, oneIf(!o.Away))
	to <- gauge(storeAwayFor, o.For.Seconds())
	to <- counter(storeOutages, float64(o.Outages))
	to <- counter(storeAway, o.Total.Seconds())
	to <- counter(storeUnknown, float64(o.Unknown))
	to <- gauge(doubted, oneIf(s.Doubted()))
	to <- gauge(generation, float64(s.Generation()))
	to <- counter(whenErrors, float64(s.WhenErrors()))
	to <- gauge(policiesDesc, float64(s.Policies()))
	to <- gauge(changesDesc, float64(s.Changes()))
	if keeper := engine.KeeperOf(s.Store); keeper != nil && !o.Away {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if open, err := keeper.OpenCount(ctx); err == nil {
			to <- gauge(openDesc, float64(open))
		}
	}
	for layer := range engine.Layers(s.Store) {
		collectStore(layer, to)
	}
}

// collectStore collects the metrics of one layer, or of the innermost store.
func collectStore(store engine.Store, to chan<- prometheus.Metric) {
	switch store := store.(type) {
	case *memstore.Store:
		stats := store.Stats()
		to <- gauge(keysHeld, float64(stats.Keys))
		to <- gauge(keysMost, float64(stats.Most))
		to <- gauge(keysShared, float64(stats.Shared)/float64(max(1, stats.MostShared)))
		to <- counter(keysDropped, float64(stats.Expired))
		to <- counter(storeErrors, float64(stats.Refused), "full")
	case *redisstore.Store:
		stats := store.Stats()
		to <- counter(roundTrips, float64(stats.RoundTrips))
		to <- gauge(storeInFlight, float64(stats.InFlight))
		for class, n := range stats.Errors {
			to <- counter(storeErrors, float64(n), class)
		}
	case *batch.Store:
		stats := store.Stats()
		to <- counter(batchOps, float64(stats.Ops))
		to <- counter(batchCalls, float64(stats.Calls))
		to <- gauge(batchWaiting, float64(stats.Waiting))
		to <- counter(batchRefused, float64(stats.Refused))
	case *denycache.Store:
		stats := store.Stats()
		to <- counter(repeated, float64(stats.Repeated), "repeated")
		to <- counter(repeated, float64(stats.Asked), "forwarded")
	case *prefetch.Store:
		stats := store.Stats()
		to <- counter(leasedOps, float64(stats.Spent), "spent")
		to <- counter(leasedOps, float64(stats.Asked), "forwarded")
		to <- counter(leasedUnits, float64(stats.Taken), "taken")
		to <- counter(leasedUnits, float64(stats.Returned), "returned")
		to <- counter(leasedUnits, float64(stats.Lost), "lost")
		to <- gauge(members, float64(stats.Members))
	case *fallback.Store:
		stats := store.Stats()
		to <- counter(shares, float64(stats.Answered))
		to <- gauge(processes, float64(stats.Processes))
		to <- counter(losses, float64(stats.Losses))
		to <- gauge(owed, float64(stats.Owed))
		to <- counter(unsettled, float64(stats.Unsettled))
	}
}

// reloads collects the number of policy activations.
type reloads struct{ m *Metrics }

// Describe implements [prometheus.Collector].
func (reloads) Describe(to chan<- *prometheus.Desc) {
	to <- reloadsDesc
	to <- invalidDesc
}

// Collect implements [prometheus.Collector].
func (r reloads) Collect(to chan<- prometheus.Metric) {
	for i, result := range []string{"error", "ok"} {
		to <- counter(reloadsDesc, float64(r.m.reloads[i].Load()), result)
	}
	to <- gauge(invalidDesc, oneIf(r.m.invalid.Load()))
}
