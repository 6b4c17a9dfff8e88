package metrics

import "github.com/prometheus/client_golang/prometheus"

// Traces collects the counts of spans: ended, sent and lost.
type Traces struct {
	// Stats returns how many spans have ended, how many were sent, and how many were in messages that the collector did
	// not accept.
	Stats func() (ended, sent, lost int64)
}

var spans = desc("trace_spans_total", "Spans that have ended, that the collector took, and that were lost because it took none. Of the ended ones, those that are neither sent nor lost wait, or were dropped because 2048 waited.", "event")

// Describe implements [prometheus.Collector].
func (*Traces) Describe(to chan<- *prometheus.Desc) { to <- spans }

// Collect implements [prometheus.Collector].
func (t *Traces) Collect(to chan<- prometheus.Metric) {
	ended, sent, lost := t.Stats()
	to <- counter(spans, float64(ended), "ended")
	to <- counter(spans, float64(sent), "sent")
	to <- counter(spans, float64(lost), "lost")
}
