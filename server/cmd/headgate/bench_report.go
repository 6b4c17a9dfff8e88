package main

import (
	"time"

	"github.com/headgate/headgate/server/internal/load"
)

// benchReport is the result of bench, as printed with --output json. Durations are in milliseconds.
type benchReport struct {
	Decisions int64           `json:"decisions"`
	Seconds   float64         `json:"seconds"`
	PerSecond float64         `json:"per_second"`
	Allowed   int64           `json:"allowed"`
	Denied    int64           `json:"denied"`
	Errors    int64           `json:"errors"`
	Error     string          `json:"error,omitempty"` // one of the errors that occurred
	Latency   []benchQuantile `json:"latency_ms"`
	Accuracy  *benchAccuracy  `json:"accuracy,omitempty"` // omitted if there was no limit to compare with
}

type benchQuantile struct {
	Percent float64 `json:"percent"`
	Most    float64 `json:"most"`
}

type benchAccuracy struct {
	Allowed   int64 `json:"allowed"`
	Exact     int64 `json:"exact"`
	Over      int64 `json:"over"`
	Under     int64 `json:"under"`
	StoreTime bool  `json:"store_time"`
	Skipped   int64 `json:"skipped"`
}

// latency returns the latency that percent of the requests did not exceed.
func latency(r *load.Report, percent float64) time.Duration {
	return time.Duration(r.Latency.ValueAtQuantile(percent)) * time.Microsecond
}

func inMillis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func reportOf(r *load.Report) *benchReport {
	out := &benchReport{
		Decisions: r.Decisions(), Seconds: r.Took.Seconds(), PerSecond: float64(r.Decisions()) / r.Took.Seconds(),
		Allowed: r.Allowed, Denied: r.Denied, Errors: r.Failed,
	}
	if r.Error != nil {
		out.Error = r.Error.Error()
	}
	for _, q := range quantiles {
		out.Latency = append(out.Latency, benchQuantile{q, inMillis(latency(r, q))})
	}
	if a := r.Accuracy; a.Known {
		out.Accuracy = &benchAccuracy{a.Allowed, a.Exact, a.Over, a.Under, a.StoreTime, a.Skipped}
	}
	return out
}

var quantiles = []float64{50, 90, 99, 99.9, 99.99, 100}
