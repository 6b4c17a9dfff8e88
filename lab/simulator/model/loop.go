package model

// event is something that happens at a given time. Its subject is a client, a call or an attempt, depending on kind.
type event struct {
	at      int64
	order   uint32 // limited by MaxAttempts
	subject int32
	// use identifies the attempt in the slot. It is only for an expiry.
	use  uint32
	kind kind
}

type kind uint8

const (
	arrival kind = iota // a client sends a new request
	retry               // a call tries again
	finish              // a worker has finished an attempt
	expiry              // the client of an attempt gives up
	tick                // the gate reads the load of the machine
)

// loop is a binary heap of events ordered by time. Events with the same time happen in the order of their insertion,
// so that a run is reproducible.
type loop struct {
	heap  []event
	added uint32
}

func (l *loop) add(at int64, k kind, subject int32) {
	l.push(event{at: at, subject: subject, kind: k})
}

func (l *loop) push(e event) {
	l.added++
	e.order = l.added
	l.heap = append(l.heap, e)
	i := len(l.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&l.heap[parent]) {
			break
		}
		l.heap[i] = l.heap[parent]
		i = parent
	}
	l.heap[i] = e
}

// next removes and returns the earliest event.
func (l *loop) next() (event, bool) {
	if len(l.heap) == 0 {
		return event{}, false
	}
	first, last := l.heap[0], l.heap[len(l.heap)-1]
	l.heap = l.heap[:len(l.heap)-1]
	if n := len(l.heap); n > 0 {
		l.heap[l.sink(last, n)] = last
	}
	return first, true
}

// sink moves earlier children up from the root, and returns the index where e belongs.
func (l *loop) sink(e event, n int) (i int) {
	for {
		child := 2*i + 1
		if child >= n {
			return i
		}
		if child+1 < n && l.heap[child+1].before(&l.heap[child]) {
			child++
		}
		if !l.heap[child].before(&e) {
			return i
		}
		l.heap[i] = l.heap[child]
		i = child
	}
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.order < o.order
}
