package topkeys

import (
	"container/list"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

const (
	// timelines is the maximum number of subjects with a timeline. A further subject replaces the least recently seen
	// one.
	timelines = 2048
	// MaxEvents is the maximum number of decisions kept for a subject.
	MaxEvents = 32
)

// Event is one entry of a timeline: the decision on a request.
type Event struct {
	At      time.Time
	Allowed bool
	Mode    engine.Mode
	// Failed is true if the decision is not known or the request was invalid.
	Failed                 bool
	Cost, Limit, Remaining int64
	// RetryAfter is set if the request was denied. It is engine.Never if the request can never pass.
	RetryAfter time.Duration
	// From is the name of the front end that received the request.
	From string
	// Counts is the number of requests that this event represents.
	Counts int64
}

// timeline holds the last events for recently seen subjects. It contains at most timelines × MaxEvents events, which
// need 8 MiB including their keys.
type timeline struct {
	mu   sync.Mutex
	all  map[Subject]*list.Element // elements are *ring
	seen *list.List                // most recently seen first
}

// ring holds one subject's last events, at most MaxEvents.
type ring struct {
	of     Subject
	events []Event
	next   int
}

func newTimeline() *timeline {
	return &timeline{all: map[Subject]*list.Element{}, seen: list.New()}
}

func (t *timeline) add(of Subject, e *Event) {
	if !of.valid() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	element := t.all[of]
	switch {
	case element != nil:
		t.seen.MoveToFront(element)
	case len(t.all) < timelines:
		of = of.clone()
		element = t.seen.PushFront(&ring{of: of})
		t.all[of] = element
	default:
		element = t.seen.Back()
		t.seen.MoveToFront(element)
		r := element.Value.(*ring)
		delete(t.all, r.of)
		r.of, r.events, r.next = of.clone(), r.events[:0], 0
		t.all[r.of] = element
	}
	r := element.Value.(*ring)
	if len(r.events) < MaxEvents {
		r.events = append(r.events, *e)
		return
	}
	r.events[r.next] = *e
	r.next = (r.next + 1) % MaxEvents
}

// Timeline returns the last decisions on a key's requests under a policy, the latest first. Allowed and denied requests
// are sampled separately, so that many requests of one kind do not hide the other.
func (t *Tracker) Timeline(policy, key string) (events []Event) {
	t.timeline.mu.Lock()
	defer t.timeline.mu.Unlock()
	element := t.timeline.all[Subject{Policy: policy, Key: key}]
	if element == nil {
		return nil
	}
	r := element.Value.(*ring)
	for i := range r.events {
		last := len(r.events) - 1 - i
		events = append(events, r.events[(r.next+last)%len(r.events)])
	}
	return events
}
