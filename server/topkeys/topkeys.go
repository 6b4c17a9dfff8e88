// Package topkeys finds the keys with the most requests, and those with the most refusals,
// over the last minute and hour, in bounded memory: at most 8 MiB, however many keys there
// are. Each count has bounds.
//
//	topkeys.go  what is counted, and the report
//	stream.go   how many of the events are counted
//	window.go   the last minute and hour as spans of time
//	sketch.go   the highest counts of one span
package topkeys

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate/server/service"
)

const (
	// capacity is how many subjects are counted in one span of time, and keep how many
	// of them are kept when it has ended.
	capacity = 1024
	keep     = 256
	// maxKeyBytes is how much of a key is kept. Keys that begin with the same bytes are
	// counted together.
	maxKeyBytes = 512
	// MaxReport is how many subjects a report has at most.
	MaxReport = 1000
)

// Tracker finds top keys. It is safe for concurrent use.
type Tracker struct{ requests, refusals *stream }

// New returns a tracker that has counted nothing.
func New() *Tracker { return &Tracker{requests: newStream(), refusals: newStream()} }

func (s Subject) clone() Subject {
	return Subject{Policy: s.Policy, Key: strings.Clone(s.Key)}
}

// subject returns what is counted of a policy and a key.
func subject(policy, key string) Subject {
	return Subject{Policy: policy, Key: key[:min(len(key), maxKeyBytes)]}
}

// Observe counts one call: its takes, and those that were denied. It implements
// [service.Observer].
func (t *Tracker) Observe(o *service.Observed) {
	if len(o.Ops) > 0 {
		t.operations(o)
		return
	}
	of := func(i int) (Subject, bool) {
		name := o.Policy(i)
		return subject(name, o.Key(i)), name != service.OtherPolicy && o.Requests[i].Kind.Takes()
	}
	t.requests.add(len(o.Requests), o.Ended, of)
	denied := 0
	for i := range o.Responses {
		if refused(&o.Requests[i], &o.Responses[i]) {
			denied++
		}
	}
	if denied > 0 {
		t.refusals.add(denied, o.Ended, func(nth int) (Subject, bool) {
			return of(position(nth, func(i int) bool { return refused(&o.Requests[i], &o.Responses[i]) }))
		})
	}
}

func refused(r *service.Request, answer *service.Response) bool {
	return answer.Err == nil && !answer.Decision.Allowed && r.Kind.Takes()
}

// operations counts the operations of Envoy's rate limit service.
func (t *Tracker) operations(o *service.Observed) {
	of := func(i int) (Subject, bool) {
		return subject(service.EnvoyPolicy, o.Key(i)), o.Ops[i].Kind.Takes()
	}
	t.requests.add(len(o.Ops), o.Ended, of)
	refused := func(i int) bool { return o.Results[i].Err == nil && !o.Results[i].Decision.Allowed }
	denied := 0
	for i := range o.Results {
		if refused(i) {
			denied++
		}
	}
	if denied > 0 {
		t.refusals.add(denied, o.Ended, func(nth int) (Subject, bool) { return of(position(nth, refused)) })
	}
}

// position returns the index of the nth element that matches. There is one.
func position(nth int, matches func(i int) bool) int {
	for i := 0; ; i++ {
		if matches(i) {
			if nth == 0 {
				return i
			}
			nth--
		}
	}
}

// Query selects what a report is about.
type Query struct {
	// Refusals counts refused requests instead of all.
	Refusals bool
	// Hour counts those of the last hour instead of the last minute.
	Hour bool
	// Policy is the name of the only policy that counts; "" is all.
	Policy string
	// Most is how many subjects the report has, up to [MaxReport].
	Most int
}

// Report is the subjects with the highest counts.
type Report struct {
	// Span is the time that was counted: up to a minute or an hour, and at least five
	// sixths of that unless the server started later.
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
	// Cut is true if the key is longer than what is shown of it.
	Cut bool
}

// Top returns the subjects with the highest counts at an instant.
func (t *Tracker) Top(q Query, now time.Time) Report {
	s := t.requests
	if q.Refusals {
		s = t.refusals
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &s.minute
	if q.Hour {
		w = &s.hour
	}
	w.turn(now)
	report := Report{Span: w.span(now), Sampled: s.widest > 1}
	for of, b := range w.sum() {
		if q.Policy != "" && of.Policy != q.Policy {
			continue
		}
		c := Count{Subject: of, Count: b.count, Least: b.least, Most: b.most, Cut: len(of.Key) == maxKeyBytes}
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
