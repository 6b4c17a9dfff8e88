package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/headgate/headgate/server/internal/load"
)

// benchReport is the result of bench, as printed with --output json. Durations are in milliseconds.
type benchReport struct {
	Decisions int64            `json:"decisions"`
	Seconds   float64          `json:"seconds"`
	PerSecond float64          `json:"per_second"`
	Allowed   int64            `json:"allowed"`
	Denied    int64            `json:"denied"`
	Errors    int64            `json:"errors"`
	Error     string           `json:"error,omitempty"` // one of the errors that occurred
	Latency   []benchQuantile  `json:"latency_ms"`
	Histogram []benchBucket    `json:"histogram"`
	Accuracy  *benchAccuracy   `json:"accuracy,omitempty"` // omitted if there was no limit to compare with
	Missed    []benchThreshold `json:"missed"`
}

type benchQuantile struct {
	Percent float64 `json:"percent"`
	Most    float64 `json:"most"`
}

// benchBucket counts the requests whose latency was above the previous bucket's bound and at most its own.
type benchBucket struct {
	UpTo     float64 `json:"up_to_ms"`
	Requests int64   `json:"requests"`
}

type benchAccuracy struct {
	Allowed   int64 `json:"allowed"`
	Exact     int64 `json:"exact"`
	Over      int64 `json:"over"`
	Under     int64 `json:"under"`
	StoreTime bool  `json:"store_time"`
	Skipped   int64 `json:"skipped"`
}

// benchThreshold is a threshold that a run missed.
type benchThreshold struct {
	Flag  string `json:"flag"`
	Value string `json:"value"`
	Got   string `json:"got"`
}

// latency returns the latency that percent of the requests did not exceed.
func latency(r *load.Report, percent float64) time.Duration {
	return time.Duration(r.Latency.ValueAtQuantile(percent)) * time.Microsecond
}

func inMillis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func reportOf(r *load.Report, missed []benchThreshold) *benchReport {
	out := &benchReport{
		Decisions: r.Decisions(), Seconds: r.Took.Seconds(), PerSecond: float64(r.Decisions()) / r.Took.Seconds(),
		Allowed: r.Allowed, Denied: r.Denied, Errors: r.Failed, Missed: append([]benchThreshold{}, missed...),
	}
	if r.Error != nil {
		out.Error = r.Error.Error()
	}
	for _, q := range quantiles {
		out.Latency = append(out.Latency, benchQuantile{q, inMillis(latency(r, q))})
	}
	for _, b := range buckets(r) {
		out.Histogram = append(out.Histogram, benchBucket{inMillis(b.to), b.count})
	}
	if a := r.Accuracy; a.Known {
		out.Accuracy = &benchAccuracy{a.Allowed, a.Exact, a.Over, a.Under, a.StoreTime, a.Skipped}
	}
	return out
}

var quantiles = []float64{50, 90, 99, 99.9, 99.99, 100}

// bucket is a bar of the histogram.
type bucket struct {
	to    time.Duration
	count int64
}

// buckets counts latencies in buckets that end at 1, 2 and 5 times each power of ten, from 1 µs. It returns the buckets
// from the first to the last non-empty one.
func buckets(r *load.Report) (all []bucket) {
	to, step := time.Microsecond, 0
	last := 0
	for _, bar := range r.Latency.Distribution() {
		if bar.Count == 0 {
			continue
		}
		for time.Duration(bar.To)*time.Microsecond > to {
			if len(all) > 0 {
				all = append(all, bucket{})
			}
			to = []time.Duration{to * 2, to / 2 * 5, to * 2}[step%3]
			if step++; len(all) > 0 {
				all[len(all)-1].to = to
			}
		}
		if len(all) == 0 {
			all = append(all, bucket{to: to})
		}
		all[len(all)-1].count += bar.Count
		last = len(all)
	}
	return all[:last]
}

// maxBar is the length of the longest bar. It is shorter on a narrow terminal.
const maxBar = 40

// printHistogram prints the buckets with bars.
func printHistogram(w io.Writer, r *load.Report) {
	const columns = 42 // width of the text before the bar
	all, longest := buckets(r), int64(min(max(terminalWidth(w)-columns, 1), maxBar))
	total, most := int64(0), int64(0)
	for _, b := range all {
		total, most = total+b.count, max(most, b.count)
	}
	for i, b := range all {
		name := ""
		if i == 0 {
			name = "histogram"
		}
		bar := strings.Repeat("#", int((b.count*longest+most-1)/most))
		fmt.Fprintf(w, "%-11s up to %-6v %9d %5.1f%% %s\n", name, b.to, b.count, 100*float64(b.count)/float64(total), bar)
	}
}
