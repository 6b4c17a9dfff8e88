package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
	"github.com/headgate/headgate/server/internal/metric"
)

// These tables have the metrics of the stores and layers.
var (
	memoryTable = metric.NewTable(
		metric.Row[memstore.Stats]{
			Name:  "headgate_memory_keys",
			Help:  "Keys in the memory store.",
			Value: func(s memstore.Stats) float64 { return float64(s.Keys) },
		},
		metric.Row[memstore.Stats]{
			Name:  "headgate_memory_keys_max",
			Help:  "The most keys that the memory store can have.",
			Value: func(s memstore.Stats) float64 { return float64(s.Most) },
		},
		metric.Row[memstore.Stats]{
			Name:  "headgate_memory_shared_ratio",
			Help:  "The used part of the room that policies share, beyond what each has to itself: 1 means that policies beyond their own part deny new keys.",
			Value: func(s memstore.Stats) float64 { return float64(s.Shared) / float64(max(1, s.MostShared)) },
		},
		metric.Row[memstore.Stats]{
			Name:  "headgate_memory_keys_expired_total",
			Help:  "Keys that the memory store dropped, because they equal an untouched limit.",
			Value: func(s memstore.Stats) float64 { return float64(s.Expired) },
		},
		storeErrors(func(s memstore.Stats, add func(float64, ...string)) {
			add(float64(s.Refused), "full")
		}),
	)
	redisTable = metric.NewTable(
		metric.Row[redisstore.Stats]{
			Name:  "headgate_store_round_trips_total",
			Help:  "Round trips to Redis.",
			Value: func(s redisstore.Stats) float64 { return float64(s.RoundTrips) },
		},
		storeErrors(func(s redisstore.Stats, add func(float64, ...string)) {
			for class, n := range s.Errors {
				add(float64(n), class)
			}
		}),
	)
	batchTable = metric.NewTable(
		metric.Row[batch.Stats]{
			Name:  "headgate_store_operations_total",
			Help:  "Operations that group commit sent to the store.",
			Value: func(s batch.Stats) float64 { return float64(s.Ops) },
		},
		metric.Row[batch.Stats]{
			Name:  "headgate_store_calls_total",
			Help:  "Calls that group commit made.",
			Value: func(s batch.Stats) float64 { return float64(s.Calls) },
		},
		metric.Row[batch.Stats]{
			Name:  "headgate_store_operations_waiting",
			Help:  "Operations that wait for a call, or are in flight together with others.",
			Value: func(s batch.Stats) float64 { return float64(s.Waiting) },
		},
		metric.Row[batch.Stats]{
			Name:  "headgate_store_queue_full_total",
			Help:  "Operations that found the queue of group commit full.",
			Value: func(s batch.Stats) float64 { return float64(s.Refused) },
		},
	)
	prefetchTable = metric.NewTable(
		metric.Row[prefetch.Stats]{
			Name: "headgate_prefetch_operations_total", Labels: []string{"result"},
			Help: "Operations that were spent from prefetched units, and those that were sent on.",
			Series: func(s prefetch.Stats, add func(float64, ...string)) {
				add(float64(s.Spent), "spent")
				add(float64(s.Asked), "forwarded")
			},
		},
		metric.Row[prefetch.Stats]{
			Name: "headgate_prefetch_units_total", Labels: []string{"event"},
			Help: "Prefetched units: taken from the store, returned to it, and lost.",
			Series: func(s prefetch.Stats, add func(float64, ...string)) {
				add(float64(s.Taken), "taken")
				add(float64(s.Returned), "returned")
				add(float64(s.Lost), "lost")
			},
		},
	)
	fallbackTable = metric.NewTable(
		metric.Row[fallback.Stats]{
			Name:  "headgate_fallback_operations_total",
			Help:  "Operations that were answered by this server's share of the limits, while the store was unavailable.",
			Value: func(s fallback.Stats) float64 { return float64(s.Answered) },
		},
		metric.Row[fallback.Stats]{
			Name:  "headgate_fallback_processes",
			Help:  "The number of servers that divide the limits while the store is unavailable; 0 if unknown.",
			Value: func(s fallback.Stats) float64 { return float64(s.Processes) },
		},
		metric.Row[fallback.Stats]{
			Name:  "headgate_fallback_processes_expected",
			Help:  "The number of servers that --expect-processes gives; 0 without it.",
			Value: func(s fallback.Stats) float64 { return float64(s.Expected) },
		},
		metric.Row[fallback.Stats]{
			Name:  "headgate_fallback_losses_total",
			Help:  "How often the store came back without its data.",
			Value: func(s fallback.Stats) float64 { return float64(s.Losses) },
		},
		metric.Row[fallback.Stats]{
			Name:  "headgate_fallback_owed",
			Help:  "Settlements and permits that wait to be sent to the store until it answers.",
			Value: func(s fallback.Stats) float64 { return float64(s.Owed) },
		},
		metric.Row[fallback.Stats]{
			Name:  "headgate_fallback_unsettled_total",
			Help:  "Settlements that did not reach the store in time; their units stay spent.",
			Value: func(s fallback.Stats) float64 { return float64(s.Unsettled) },
		},
	)
)

// storeErrors returns the row of a store that counts its errors by class.
func storeErrors[S any](series func(s S, add func(float64, ...string))) metric.Row[S] {
	return metric.Row[S]{
		Name: "headgate_store_errors_total", Help: "Errors of the store by class.", Labels: []string{"class"}, Series: series,
	}
}

// collectStore collects the metrics of one layer, or of the innermost store.
func collectStore(store engine.Store, to chan<- prometheus.Metric) {
	switch store := store.(type) {
	case *memstore.Store:
		memoryTable.Collect(store.Stats(), to)
	case *redisstore.Store:
		redisTable.Collect(store.Stats(), to)
	case *batch.Store:
		batchTable.Collect(store.Stats(), to)
	case *prefetch.Store:
		prefetchTable.Collect(store.Stats(), to)
	case *fallback.Store:
		fallbackTable.Collect(store.Stats(), to)
	}
}
