package main

import (
	"slices"
	"testing"
)

func TestVerdict(t *testing.T) {
	spread := func(from, to float64) (ratios []float64) {
		for i := range 21 {
			ratios = append(ratios, from+(to-from)*float64(i)/20)
		}
		return ratios
	}
	for _, c := range []struct {
		about  string
		ratios []float64
		more   float64 // allocations
		want   string
	}{
		{"the same", spread(0.99, 1.01), 0, passed},
		{"a little slower", spread(0.965, 0.985), 0, passed},
		{"slower", spread(0.93, 0.95), 0, slower},
		{"scattered, and half of them slower", spread(0.8, 1.2), 0, undecided},
		{"scattered, and nearly all quicker", spread(0.96, 1.5), 0, passed},
		{"scattered, and all slower", spread(0.6, 0.8), 0, slower},
		{"quicker, with an allocation more", spread(1.5, 1.6), 1, slower},
	} {
		f := figures{ratios: c.ratios, allocatedBefore: make([]float64, 21), allocatedNow: slices.Repeat([]float64{c.more}, 21)}
		if got := f.verdict(); got != c.want {
			t.Errorf("%s: %s, want %s", c.about, got, c.want)
		}
	}
}
