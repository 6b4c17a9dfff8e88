package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/server/internal/metric"
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
	// Class is the class of the error with which the outage began, such as out_of_memory. It is "" if Away is false.
	Class string
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
	// Generation returns the number of times that policies have been activated, and Changes the number of changes on top
	// of the file.
	Generation func() uint64
	Changes    func() int
	// WhenErrors returns the number of failed evaluations of the routes' when conditions.
	WhenErrors func() uint64
}

var serverTable = metric.NewTable(
	metric.Row[state]{
		Name:  "headgate_store_up",
		Help:  "1 if the store answers, 0 while it is unavailable.",
		Value: func(s state) float64 { return oneIf(!s.outage.Away) },
	},
	metric.Row[state]{
		Name: "headgate_store_away", Labels: []string{"class"},
		Help: "1 while the store is unavailable, with the class of the error; absent otherwise.",
		Series: func(s state, add func(float64, ...string)) {
			if s.outage.Away {
				add(1, s.outage.Class)
			}
		},
	},
	metric.Row[state]{
		Name:  "headgate_store_away_seconds",
		Help:  "How long the store has been away; 0 if it is not.",
		Value: func(s state) float64 { return s.outage.For.Seconds() },
	},
	metric.Row[state]{
		Name:  "headgate_store_outages_total",
		Help:  "How often the store has gone away.",
		Value: func(s state) float64 { return float64(s.outage.Outages) },
	},
	metric.Row[state]{
		Name:  "headgate_store_away_seconds_total",
		Help:  "How long the store was unavailable in all outages, the current one included.",
		Value: func(s state) float64 { return s.outage.Total.Seconds() },
	},
	metric.Row[state]{
		Name:  "headgate_store_unknown_total",
		Help:  "Operations whose decision was not known, because the store failed.",
		Value: func(s state) float64 { return float64(s.outage.Unknown) },
	},
	metric.Row[state]{
		Name:  "headgate_fallback_doubted",
		Help:  "1 while answers are a fallback because the store has lost data and not all limits have recovered.",
		Value: func(s state) float64 { return oneIf(s.Doubted()) },
	},
	metric.Row[state]{
		Name:  "headgate_policies_generation",
		Help:  "How often policies were put in force since the server started.",
		Value: func(s state) float64 { return float64(s.Generation()) },
	},
	metric.Row[state]{
		Name:  "headgate_route_when_errors_total",
		Help:  "Evaluations of when conditions that failed, or that cost too much. Begins anew where the routes change.",
		Value: func(s state) float64 { return float64(s.WhenErrors()) },
	},
	metric.Row[state]{
		Name:  "headgate_policy_changes",
		Help:  "Changes in force on top of the policies file.",
		Value: func(s state) float64 { return float64(s.Changes()) },
	},
	metric.Row[state]{
		Name: "headgate_open_reservations",
		Help: "Reservations that the store keeps until they are settled: see settle_within of policies.",
		Series: func(s state, add func(float64, ...string)) {
			keeper := engine.KeeperOf(s.Store)
			if keeper == nil || s.outage.Away {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if open, err := keeper.OpenCount(ctx); err == nil {
				add(float64(open))
			}
		},
	},
)

// redisMemoryTable has the memory of the Redis, which is read at each scrape.
var redisMemoryTable = metric.NewTable(
	metric.Row[float64]{
		Name:  "headgate_redis_memory_ratio",
		Help:  "The used part of the Redis server's maxmemory; 0 if it has no maxmemory. Of a Cluster, of one node.",
		Value: func(used float64) float64 { return used },
	},
)

// collectRedisMemory omits the metric if Redis does not answer.
func collectRedisMemory(store *redisstore.Store, to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if used, err := store.MemoryUsed(ctx); err == nil {
		redisMemoryTable.Collect(used, to)
	}
}

// state is a server at a scrape.
type state struct {
	*Server
	outage Outage
}

// Describe implements [prometheus.Collector]. It sends nothing, because the metrics depend on the store. They are
// checked at each scrape instead.
func (s *Server) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (s *Server) Collect(to chan<- prometheus.Metric) {
	now := state{s, s.Outage()}
	serverTable.Collect(now, to)
	for layer := range engine.Layers(s.Store) {
		collectStore(layer, to)
		if redis, ok := layer.(*redisstore.Store); ok && !now.outage.Away {
			collectRedisMemory(redis, to)
		}
	}
}

// reloads are the metrics of policies that were put in force.
var reloads = metric.NewTable(
	metric.Row[*Metrics]{
		Name: "headgate_policy_reloads_total", Labels: []string{"result"},
		Help: "How often policies were put in force, and how often that failed.",
		Series: func(m *Metrics, add func(float64, ...string)) {
			for i, result := range []string{"error", "ok"} {
				add(float64(m.reloads[i].Load()), result)
			}
		},
	},
)
