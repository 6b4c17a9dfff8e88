package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate/server/internal/snapshot"
)

// Snapshots collects the metrics of the memory store's snapshots.
type Snapshots struct {
	// Stats returns the counts.
	Stats func() snapshot.Stats
}

var (
	snapshotAt     = desc("snapshot_timestamp_seconds", "When the last snapshot was written, since 1970; 0 if none was since the start.")
	snapshotKeys   = desc("snapshot_keys", "Keys in the last snapshot.")
	snapshotTook   = desc("snapshot_seconds", "How long the last snapshot took.")
	snapshotFailed = desc("snapshot_failures_total", "Snapshots that could not be written. The last one stays.")
)

// Describe implements [prometheus.Collector].
func (*Snapshots) Describe(to chan<- *prometheus.Desc) { to <- snapshotAt }

// Collect implements [prometheus.Collector].
func (s *Snapshots) Collect(to chan<- prometheus.Metric) {
	stats, at := s.Stats(), 0.0
	if !stats.At.IsZero() {
		at = float64(stats.At.UnixMilli()) / 1000
	}
	to <- gauge(snapshotAt, at)
	to <- gauge(snapshotKeys, float64(stats.Keys))
	to <- gauge(snapshotTook, stats.Took.Seconds())
	to <- counter(snapshotFailed, float64(stats.Failed))
}
