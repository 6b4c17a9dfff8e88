package httpclient

import "container/list"

// line is the queue of requests that wait to be sent, in their order. Its caller holds a lock.
type line struct{ places list.List }

// place is a request's place in a line. A wake-up that its request has not yet received is not repeated.
type place struct {
	at    *list.Element
	woken chan struct{}
}

func (p *place) wake() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

// join adds a place at the end.
func (l *line) join() *place {
	p := &place{woken: make(chan struct{}, 1)}
	p.at = l.places.PushBack(p)
	return p
}

// leave removes a place, and wakes the first one if that has changed.
func (l *line) leave(p *place) {
	first := l.first(p)
	l.places.Remove(p.at)
	if first {
		l.wake()
	}
}

// first reports whether no place is ahead.
func (l *line) first(p *place) bool { return l.places.Front() == p.at }

// wake wakes the first request.
func (l *line) wake() {
	if e := l.places.Front(); e != nil {
		e.Value.(*place).wake()
	}
}

// wakeAll wakes every request.
func (l *line) wakeAll() {
	for e := l.places.Front(); e != nil; e = e.Next() {
		e.Value.(*place).wake()
	}
}
