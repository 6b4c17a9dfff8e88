package gate

import "math"

// bucket counts the attempts that ended in one part of a window.
type bucket struct {
	index  int64
	passed int64
	sum    float64
	least  float64
}

// ring counts the attempts that ended in a sliding window. The window is divided into equal parts. The field part is
// their length in µs.
type ring struct {
	part    int64
	buckets []bucket
}

func newRing(part int64, parts int) ring { return ring{part: part, buckets: make([]bucket, parts)} }

func (r *ring) add(now, rtt int64) {
	index := now / r.part
	b := &r.buckets[index%int64(len(r.buckets))]
	if b.index != index || b.passed == 0 {
		*b = bucket{index: index, least: math.Inf(1)}
	}
	b.passed++
	b.sum += float64(rtt)
	b.least = min(b.least, float64(rtt))
}

// each calls f with the parts of the window that contain counts. It includes the part that has not ended only if
// current is set.
func (r *ring) each(now int64, current bool, f func(*bucket)) {
	index := now / r.part
	for i := range r.buckets {
		b := &r.buckets[i]
		if b.passed > 0 && index-b.index < int64(len(r.buckets)) && (current || b.index != index) {
			f(b)
		}
	}
}
