package suggest

// maxRequests is the maximum number of requests that a recorder can hold. Grouping that many takes about 600 MB.
const maxRequests = 20_000_000

const chunk = 1 << 16

type record struct {
	time int64
	key  int32
	tag  uint16 // a hash of the User-Agent, or 0
}

// recorder keeps requests in the order in which they were added.
type recorder struct {
	chunks [][]record
	count  int
	tagged bool
}

// add adds a request for a key. Times must not decrease. It returns false if the recorder already holds maxRequests.
func (r *recorder) add(key int32, time int64, tag uint16) bool {
	if r.count >= maxRequests {
		return false
	}
	if r.count%chunk == 0 {
		r.chunks = append(r.chunks, make([]record, 0, chunk))
	}
	last := &r.chunks[len(r.chunks)-1]
	*last = append(*last, record{time, key, tag})
	r.count++
	r.tagged = r.tagged || tag != 0
	return true
}

// groups contains requests grouped by key.
type groups struct {
	ends  []int // per key
	times []int64
	tags  []uint16 // nil if every tag is 0
}

// group groups the requests by key and empties the recorder. The keys are 0 to keys-1.
func (r *recorder) group(keys int) *groups {
	g := &groups{ends: make([]int, keys), times: make([]int64, r.count)}
	if r.tagged {
		g.tags = make([]uint16, r.count)
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
				g.tags[to] = c[i].tag
			}
		}
		r.chunks[n] = nil
	}
	*r = recorder{}
	return g
}

// bounds returns the half-open range of a key's requests in the lists of all requests.
func (g *groups) bounds(key int) (from, to int) {
	if key > 0 {
		from = g.ends[key-1]
	}
	return from, g.ends[key]
}

// of returns a key's times in order. The caller must not modify them.
func (g *groups) of(key int) []int64 {
	from, to := g.bounds(key)
	return g.times[from:to:to]
}

// tagOf returns the tag of a key's request. The argument place is the request's index in [groups.of].
func (g *groups) tagOf(key, place int) uint16 {
	if g.tags == nil {
		return 0
	}
	from, _ := g.bounds(key)
	return g.tags[from+place]
}
