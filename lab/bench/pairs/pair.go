package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"
)

const (
	leastPairs = 20
	mostPairs  = 60
	scatter    = 0.04 // maximum width of the middle half
	reach      = 0.97 // minimum ratio of the speeds of this build and the earlier one
)

// The possible verdicts about a row.
const (
	passed    = "passed"
	slower    = "slower"
	undecided = "undecided"
)

// pairing configures how pairs are measured.
type pairing struct {
	before, now string // programs
	redis       string
	lasts       time.Duration
}

// sample is one measurement. Its values are per decision.
type sample struct {
	CPU         float64 `json:"cpu_ns"`
	Allocations float64 `json:"allocations"`
}

// figures holds the values of all pairs of a row: CPU time per decision in ns, the ratios, and allocations per decision.
type figures struct{ before, now, ratios, allocatedBefore, allocatedNow []float64 }

// row measures pairs for a row until the figures are close together.
func (p pairing) row(ctx context.Context, row string) (f figures, err error) {
	for pair := 0; pair < mostPairs && (pair < leastPairs || f.verdict() == undecided); pair++ {
		programs := [2]string{p.before, p.now}
		var samples [2]sample
		for turn := range 2 {
			which := (pair + turn) % 2 // each build goes first equally often
			if samples[which], err = p.once(ctx, programs[which], row); err != nil {
				return f, err
			}
		}
		f.before, f.now = append(f.before, samples[0].CPU), append(f.now, samples[1].CPU)
		f.ratios = append(f.ratios, samples[0].CPU/samples[1].CPU)
		f.allocatedBefore = append(f.allocatedBefore, samples[0].Allocations)
		f.allocatedNow = append(f.allocatedNow, samples[1].Allocations)
	}
	return f, nil
}

func (p pairing) once(ctx context.Context, program, row string) (s sample, err error) {
	out, err := exec.CommandContext(ctx, program, "-row", row, "-redis", p.redis, "-for", p.lasts.String()).Output()
	if failed := (*exec.ExitError)(nil); err != nil {
		if errors.As(err, &failed) {
			return s, fmt.Errorf("%s: %w: %s", program, err, failed.Stderr)
		}
		return s, err
	}
	return s, json.Unmarshal(out, &s)
}

// spread returns the width of the middle half of the figures, as a fraction of their median.
func (f *figures) spread() float64 {
	return (quantile(f.ratios, 3) - quantile(f.ratios, 1)) / quantile(f.ratios, 2)
}

// verdict returns passed or slower, or undecided if the ratios are too scattered. Scattered ratios are decisive if three
// quarters of them are on one side of reach. Up to 0.1 more allocations are ignored, because pools and runtime
// goroutines allocate now and then.
func (f *figures) verdict() string {
	switch {
	case quantile(f.allocatedNow, 2) > quantile(f.allocatedBefore, 2)+0.1:
		return slower
	case quantile(f.ratios, 1) >= reach:
		return passed
	case quantile(f.ratios, 3) < reach:
		return slower
	case f.spread() > scatter:
		return undecided
	case quantile(f.ratios, 2) < reach:
		return slower
	default:
		return passed
	}
}

func (f *figures) line(row string) string {
	return fmt.Sprintf("| %s | %.1f | %.1f | %.3f (%.3f to %.3f) | %.1f → %.1f | %d | %s |", row,
		quantile(f.before, 2), quantile(f.now, 2), quantile(f.ratios, 2), quantile(f.ratios, 1), quantile(f.ratios, 3),
		quantile(f.allocatedBefore, 2), quantile(f.allocatedNow, 2), len(f.ratios), f.verdict())
}

// quantile returns the first, second or third quartile of the figures.
func quantile(of []float64, quarters int) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[(len(sorted)-1)*quarters/4]
}
