// Package topkeys finds the keys with the most requests, those with the most refusals, and
// those that a shadow would newly deny or allow, over the last minute and hour, in bounded
// memory: at most 24 MiB, however many keys there are. Each count has bounds. Of the keys
// that were seen last it keeps the last decisions, in 8 MiB more.
//
//	topkeys.go  what is counted, and the report
//	stream.go   how many of the events are counted
//	window.go   the last minute and hour as spans of time
//	sketch.go   the highest counts of one span
//	timeline.go the last decisions of a key
package topkeys

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
)

const (
	// capacity is how many subjects are counted in one span of time, and keep how many
	// of them are kept when it has ended.
	capacity = 1024
	keep     = 256
	// MaxReport is how many subjects a report has at most.
	MaxReport = 1000
)

// Events are what is counted of a key.
type Events uint8

// The events. Newly denied and newly allowed are requests whose answer would be another
// one with a shadow of their policy in force.
const (
	Requests Events = iota
	Refusals
	NewlyDenied
	NewlyAllowed
	kinds
)

// Words are the words for the events, by their numbers.
var Words = [...]string{Requests: "requests", Refusals: "refusals", NewlyDenied: "newly-denied", NewlyAllowed: "newly-allowed"}

func (e Events) String() string { return Words[e] }

// Tracker finds top keys. It is safe for concurrent use.
type Tracker struct {
	streams  [kinds]*stream
	timeline *timeline
}

// New returns a tracker that has counted nothing.
func New() *Tracker {
	t := &Tracker{timeline: newTimeline()}
	for i := range t.streams {
		t.streams[i] = newStream()
	}
	return t
}

func (s Subject) clone() Subject {
	return Subject{Policy: s.Policy, Key: strings.Clone(s.Key)}
}

// valid reports whether the key is one that a request can be counted under. Requests with longer keys
// are answered with an error, and keeping such keys would take unbounded memory.
func (s Subject) valid() bool { return len(s.Key) <= engine.MaxKeyBytes }

// Add counts n events at an instant. of is called with the index of one that stands for
// several, and returns its subject, and false if it does not count. Subjects may be in
// memory that the caller uses again. Keys of more than [engine.MaxKeyBytes] are not counted.
func (t *Tracker) Add(events Events, n int, now time.Time, of func(i int, counts int64) (Subject, bool)) {
	t.streams[events].add(n, now, of)
}

// Record keeps a decision for the timeline of a subject.
func (t *Tracker) Record(of Subject, e *Event) { t.timeline.add(of, e) }

// Query selects what a report is about.
type Query struct {
	// Of is what is counted.
	Of Events
	// Hour counts those of the last hour instead of the last minute.
	Hour bool
	// Now counts those of the last 10 to 20 s instead of the last minute: a key that has
	// just become busy is soon among the first.
	Now bool
	// Policy is the name of the only policy that counts; "" is all.
	Policy string
	// Most is how many subjects the report has, up to [MaxReport].
	Most int
}

// Report is the subjects with the highest counts.
type Report struct {
	// Span is the time that was counted: up to a minute, an hour or 20 s, and at least five
	// sixths of that, or half of 20 s, unless the server started later.
	Span time.Duration
	Top  []Count
	// Sampled is true if there were so many events that a share of them was counted.
	Sampled bool
}

// Count is how often a subject was counted: at least Least and at most Most times. If the
// report is sampled, the bounds hold with a probability of more than 99.999 %.
type Count struct {
	Subject

	Count, Least, Most int64
}

// Top returns the subjects with the highest counts at an instant.
func (t *Tracker) Top(q Query, now time.Time) Report {
	s := t.streams[q.Of]
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &s.minute
	if q.Hour {
		w = &s.hour
	}
	last := segments
	if q.Now {
		last = 2
	}
	w.turn(now)
	report := Report{Span: w.span(now, last), Sampled: s.widest > 1}
	for of, b := range w.sum(last) {
		if q.Policy != "" && of.Policy != q.Policy {
			continue
		}
		c := Count{Subject: of, Count: b.count, Least: b.least, Most: b.most}
		if report.Sampled {
			deviation := int64(5 * math.Sqrt(float64(b.most*s.widest)))
			c.Least, c.Most = max(c.Least-deviation, 1), c.Most+deviation
		}
		report.Top = append(report.Top, c)
	}
	slices.SortFunc(report.Top, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Key, b.Key))
	})
	report.Top = report.Top[:min(len(report.Top), q.Most, MaxReport)]
	return report
}
