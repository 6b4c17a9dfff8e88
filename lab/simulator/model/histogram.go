package model

import "math/bits"

// stepBits and steps set the number of buckets per power of two, so that values are accurate to 1/32.
const (
	stepBits = 5
	steps    = 1 << stepBits
	buckets  = (64 - stepBits) * steps
)

// Histogram counts durations in µs with a relative error below 1/32. Histograms from several runs can be merged.
type Histogram struct {
	counts [buckets]int64
	total  int64
}

func bucketOf(us int64) int {
	u := uint64(max(us, 0))
	if u < steps {
		return int(u)
	}
	shift := bits.Len64(u) - stepBits - 1
	return shift*steps + int(u>>shift)
}

// least returns the smallest duration in a bucket.
func least(bucket int) int64 {
	if bucket < 2*steps {
		return int64(bucket)
	}
	shift := bucket/steps - 1
	return int64(bucket%steps+steps) << shift
}

// Add counts one duration.
func (h *Histogram) Add(us int64) {
	h.counts[bucketOf(us)]++
	h.total++
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(o *Histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.total += o.total
}

// Total returns the number of durations.
func (h *Histogram) Total() int64 { return h.total }

// Quantile returns the duration in µs that a fraction q of the durations does not exceed, rounded down to its bucket.
// It returns 0 if there are no durations.
func (h *Histogram) Quantile(q float64) int64 {
	if h.total == 0 {
		return 0
	}
	rank := min(int64(q*float64(h.total)), h.total-1)
	for i, n := range h.counts {
		if rank -= n; rank < 0 {
			return least(i)
		}
	}
	return 0
}
