package metrics

import (
	"github.com/headgate/headgate/server/internal/metric"
	"github.com/headgate/headgate/server/internal/snapshot"
)

// Snapshots are the metrics of the memory store's snapshots.
var Snapshots = metric.NewTable(
	metric.Row[snapshot.Stats]{
		Name: "headgate_snapshot_timestamp_seconds",
		Help: "When the last snapshot was written, since 1970; 0 if none was since the start.",
		Series: func(s snapshot.Stats, add func(float64, ...string)) {
			if s.At.IsZero() {
				add(0)
			} else {
				add(float64(s.At.UnixMilli()) / 1000)
			}
		},
	},
	metric.Row[snapshot.Stats]{
		Name:  "headgate_snapshot_keys",
		Help:  "Keys in the last snapshot.",
		Value: func(s snapshot.Stats) float64 { return float64(s.Keys) },
	},
	metric.Row[snapshot.Stats]{
		Name:  "headgate_snapshot_failures_total",
		Help:  "Snapshots that could not be written. The last one stays.",
		Value: func(s snapshot.Stats) float64 { return float64(s.Failed) },
	},
)
