// Package topkeys finds the keys with the most requests and with the most denials, and the keys that a shadow would
// newly deny or allow, over the last minute and hour. It uses at most 24 MiB, regardless of the number of keys. Each
// count has bounds. It also keeps the last decisions on recently seen keys, in 8 MiB more.
//
//	topkeys.go  the tracker, and the report
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
	// capacity is the number of subjects counted in one span of time, and keep the number kept when it has ended.
	capacity = 1024
	keep     = 256
	// MaxReport is the largest number of subjects in a report.
	MaxReport = 1000
)

// Events is the kind of events counted for a key.
type Events uint8

// The kinds of events. Newly denied and newly allowed are requests whose answer would change if a shadow of their
// policy were in force.
const (
	Requests Events = iota
	Denials
	NewlyDenied
	NewlyAllowed
	kinds
)

// Words are the names of the kinds.
var Words = [...]string{Requests: "requests", Denials: "denials", NewlyDenied: "newly-denied", NewlyAllowed: "newly-allowed"}

// FormerWords are the former names of kinds, with the current ones. Queries can still have them.
var FormerWords = map[string]string{"refusals": Denials.String()}

func (e Events) String() string { return Words[e] }

// Tracker finds top keys. It is safe for concurrent use.
type Tracker struct {
	streams  [kinds]*stream
	timeline *timeline
}

// New returns an empty tracker.
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

// valid reports whether requests can be counted under the key. Requests with longer keys are errors, and keeping their
// keys would take unbounded memory.
func (s Subject) valid() bool { return len(s.Key) <= engine.MaxKeyBytes }

// Add counts n events at an instant. It calls of with the index of each sampled event, which returns the event's
// subject, or false if it does not count. Subjects may be in memory that the caller reuses. Keys of more than
// [engine.MaxKeyBytes] are not counted.
func (t *Tracker) Add(events Events, n int, now time.Time, of func(i int, counts int64) (Subject, bool)) {
	t.streams[events].add(n, now, of)
}

// Record adds a decision to the timeline of a subject.
func (t *Tracker) Record(of Subject, e *Event) { t.timeline.add(of, e) }

// Query selects the content of a report.
type Query struct {
	// Of is the kind of events.
	Of Events
	// Hour selects the last hour instead of the last minute.
	Hour bool
	// Now selects the last 10 to 20 s instead of the last minute, so that a key that has just become busy ranks high
	// soon.
	Now bool
	// Policy restricts the report to one policy; "" means all.
	Policy string
	// Most is the number of subjects in the report, up to [MaxReport].
	Most int
}

// Report has the subjects with the highest counts.
type Report struct {
	// Span is the time covered by the counts: up to a minute, an hour or 20 s, and at least five sixths of that, or
	// half of 20 s, unless the server started later.
	Span time.Duration
	Top  []Count
	// Sampled is true if only a sample of the events was counted.
	Sampled bool
}

// Count has the bounds on a subject's count: at least Least and at most Most. If the report is sampled, the bounds hold
// with a probability of more than 99.999 %.
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
