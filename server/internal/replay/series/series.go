// Package series records the times of requests by key, and returns the times for each key in order.
package series

// Max is the maximum number of requests that a recorder can hold. Grouping that many requests takes about 600 MB.
const Max = 20_000_000

const chunk = 1 << 16

// record is one request.
type record struct {
	time int64
	key  int32
	tag  uint16
	cost uint16
}

// Recorder keeps requests in the order in which they were added.
type Recorder struct {
	chunks [][]record
	count  int
	tagged bool
}

// Add adds a request for a key. Times must not decrease. The tag is for the caller's own use. Add returns false if the
// recorder already holds Max requests.
func (r *Recorder) Add(key int32, time int64, tag, cost uint16) bool {
	if r.count >= Max {
		return false
	}
	if r.count%chunk == 0 {
		r.chunks = append(r.chunks, make([]record, 0, chunk))
	}
	last := &r.chunks[len(r.chunks)-1]
	*last = append(*last, record{time, key, tag, cost})
	r.count++
	r.tagged = r.tagged || tag != 0 || cost != 1
	return true
}

// Len returns the number of requests.
func (r *Recorder) Len() int { return r.count }

// Groups contains requests grouped by key.
type Groups struct {
	ends  []int // per key
	times []int64
	tags  []uint32 // nil if every tag is 0 and every cost is 1
}

// Group groups the requests by key and empties the recorder. The keys are 0 to keys-1.
func (r *Recorder) Group(keys int) *Groups {
	g := &Groups{ends: make([]int, keys), times: make([]int64, r.count)}
	if r.tagged {
		g.tags = make([]uint32, r.count)
	}
	for _, c := range r.chunks {
		for i := range c {
			g.ends[c[i].key]++
		}
	}
	at := 0
	for i, n := range g.ends {
		g.ends[i] = at // the start of the group; moves to its end below
		at += n
	}
	for n, c := range r.chunks {
		for i := range c {
			to := g.ends[c[i].key]
			g.ends[c[i].key]++
			g.times[to] = c[i].time
			if g.tags != nil {
				g.tags[to] = uint32(c[i].tag)<<16 | uint32(c[i].cost)
			}
		}
		r.chunks[n] = nil
	}
	*r = Recorder{}
	return g
}

// Keys returns the number of keys.
func (g *Groups) Keys() int { return len(g.ends) }

// Len returns the number of requests.
func (g *Groups) Len() int { return len(g.times) }

// bounds returns the half-open range of a key's requests in the lists of all requests.
func (g *Groups) bounds(key int) (from, to int) {
	if key > 0 {
		from = g.ends[key-1]
	}
	return from, g.ends[key]
}

// Times returns a key's times in order. The caller must not modify them.
func (g *Groups) Times(key int) []int64 {
	from, to := g.bounds(key)
	return g.times[from:to:to]
}

// Of returns the tag and the cost of a key's request. The argument place is the request's index in [Groups.Times].
func (g *Groups) Of(key, place int) (tag, cost uint16) {
	if g.tags == nil {
		return 0, 1
	}
	from, _ := g.bounds(key)
	return uint16(g.tags[from+place] >> 16), uint16(g.tags[from+place])
}
