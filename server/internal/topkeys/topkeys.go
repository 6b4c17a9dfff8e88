// Package topkeys finds the keys with the most requests, the keys with the most denials, and the keys that a shadow
// would newly deny or allow, over the last minute and hour. It uses at most 24 MiB, whatever the number of keys. Each
// count has bounds. The package also keeps the last decisions on recently seen keys, which needs another 8 MiB.
//
//	topkeys.go  the tracker and the report
//	stream.go   how many events are counted
//	window.go   the last minute and hour as spans of time
//	sketch.go   the highest counts in one span
//	timeline.go the last decisions on a key
//	observe.go  what the service tells it (part.go: of requests with several charges)
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
	// capacity is the number of subjects counted in one time span. keep is the number of subjects kept after the span
	// has ended.
	capacity = 1024
	keep     = 256
	// MaxReport is the maximum number of subjects in a report.
	MaxReport = 1000
)

// Events is a kind of event that is counted for a key.
type Events uint8

// The kinds of events. A newly denied or newly allowed request is one whose answer would change if a shadow of its
// policy were in force.
const (
	Requests Events = iota
	Denials
	NewlyDenied
	NewlyAllowed
	kinds
)

// Words lists the name of each kind.
var Words = [...]string{Requests: "requests", Denials: "denials", NewlyDenied: "newly-denied", NewlyAllowed: "newly-allowed"}

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

// valid reports whether requests can be counted under the key. Requests with longer keys are errors, and keeping such
// keys would need unbounded memory.
func (s Subject) valid() bool { return len(s.Key) <= engine.MaxKeyBytes }

// Add counts n events at the time now. For each sampled event it calls of(i, counts): i is the index of the event,
// and counts is the number of events that the sample represents. The call returns the event's subject, or false if
// the event does not count. The caller may reuse the memory of subjects. Keys longer than [engine.MaxKeyBytes] are
// not counted.
func (t *Tracker) Add(events Events, n int, now time.Time, of func(i int, counts int64) (Subject, bool)) {
	t.streams[events].add(n, now, of)
}

// Record adds a decision to a subject's timeline.
func (t *Tracker) Record(of Subject, e *Event) { t.timeline.add(of, e) }

// Query selects the content of a report.
type Query struct {
	// Of is the kind of events.
	Of Events
	// Hour selects the last hour instead of the last minute.
	Hour bool
	// Now selects the last 10 to 20 s instead of the last minute, so that a key that has just become busy soon ranks
	// high.
	Now bool
	// Policy restricts the report to one policy. If it is "", the report covers all policies.
	Policy string
	// Most is the number of subjects in the report, at most [MaxReport].
	Most int
}

// Report lists the subjects with the highest counts.
type Report struct {
	// Span is the time that the counts cover: at most a minute, an hour or 20 s. It is at least five sixths of the
	// minute or hour, or half of the 20 s, unless the server started more recently.
	Span time.Duration
	Top  []Count
	// Sampled is true if only a sample of the events was counted.
	Sampled bool
}

// Count contains a subject's count and its bounds, Least and Most. If the report is sampled, the bounds hold with a
// probability of more than 99.999 %.
type Count struct {
	Subject

	Count, Least, Most int64
}

// Top returns the subjects with the highest counts at this time.
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
