// Package script generates random sequences of operations with the model's answers, for differential tests. Half of
// the steps are at an edge, within 1 µs or 1 unit of the point where an answer changes, because that is where limiters
// make mistakes.
package script

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/headgate/headgate/lab/model"
)

// Options select additional kinds of changes in a script.
type Options struct {
	ClockSteps bool // the store's clock also goes back, by a little or a lot
	Changes    bool // the limits' parameters change between calls
	All        bool // two or three limits in one request
	Big        bool // numbers up to 2^48−1 units and 100 years
	Extras     bool // debt, counted denials and calendar windows
	Reserve    bool // units are reserved and settled
	First      bool // some limits are choices, and the first with room is charged
	Lists      bool // limits have their own keys and costs, and some are concurrency limits
}

// Algorithms lists the names of the algorithms that [Generate] supports.
var Algorithms []string

func init() {
	for _, algorithm := range slices.Sorted(maps.Keys(drawings)) {
		if !drawings[algorithm].beside {
			Algorithms = append(Algorithms, algorithm)
		}
	}
}

// Generate returns a case with the given number of steps. If All is set, only the first limit's algorithm is the given
// one, and the others are random. Equal seeds produce equal cases.
func Generate(r *rand.Rand, algorithm string, steps int, opts Options) model.Case {
	g := newGenerator(r, algorithm, opts)
	for range steps {
		g.step()
	}
	return g.made
}

// Scripts stay within 2^53 µs, which a double can represent exactly, up to the reset of the last step.
const (
	startUS    = 1_700_000_000_000_000
	earliestUS = startUS / 2
	exactUS    = 1 << 53
)

type generator struct {
	rand    *rand.Rand
	opts    Options
	subject *model.Subject
	made    model.Case
	now     int64
	latest  int64
	instant []int64 // where answers change, according to the last answers
	last    model.Step
	edges   int // number of steps at an edge
	// reserved holds the open reservations by step number, starting at 1.
	reserved map[int]*model.Reservation
}

func newGenerator(r *rand.Rand, algorithm string, opts Options) *generator {
	g := &generator{rand: r, opts: opts, subject: model.New(), reserved: map[int]*model.Reservation{}, now: startUS + r.Int64N(1_000_000_000_000)}
	g.made.LimitSets = randomSets(r, algorithm, opts)
	g.latest = exactUS
	for _, set := range g.made.LimitSets {
		for _, l := range set {
			g.latest = min(g.latest, exactUS-lasts(l, opts))
		}
	}
	return g
}

// step draws a step, computes the model's answer, and records the edges in the answer.
func (g *generator) step() {
	var s model.Step
	if g.rand.IntN(100) < 55 {
		s = g.edgeStep()
	} else {
		s = g.plainStep()
	}
	g.reserve(&s)
	if s.Op != model.Take && s.Op != model.Peek && s.Op != model.Settle {
		s.N = max(s.N, 1) // a cost of 0 is interesting only for that operation
	}
	if g.opts.Lists {
		g.list(&s)
	}
	if g.opts.First {
		g.first(&s)
	}
	g.outcomes(&s)
	g.answer(&s)
	g.now, g.last = s.AtUS, s
	g.made.Steps = append(g.made.Steps, s)
	g.learn(s)
}

// answer computes the model's answer to a step.
func (g *generator) answer(s *model.Step) {
	for n, r := range g.reserved {
		if s.AtUS >= r.EndsUS() && n != s.Of && !r.Open() {
			delete(g.reserved, n) // from now on, stores may drop the record that the reservation was settled
		}
	}
	limits := g.made.LimitSets[s.Set]
	g.subject.Outcomes = s.Report
	switch s.Op {
	case model.Reserve:
		answer, reservation := g.subject.Reserve(limits, s.Each(limits), s.AheadUS, s.TermUS, s.AtUS)
		if s.Want = answer; reservation != nil {
			g.reserved[len(g.made.Steps)+1] = reservation
		}
	case model.Settle:
		answer, settled := g.subject.Settle(g.reserved[s.Of], s.Each(limits), s.Stage, s.AtUS)
		s.Want, s.Want.Granted = answer, new(int64)
		if settled {
			*s.Want.Granted = 1
		}
		if r := g.reserved[s.Of]; s.AtUS >= r.EndsUS() && !r.Open() {
			delete(g.reserved, s.Of)
		}
	default:
		s.Want = g.subject.ApplyCosts(limits, s.Each(limits), s.Op, s.AtUS)
	}
}

// Answer computes the model's answers to a case's steps again, as for a new script. It is an error if a step settles
// a reservation that the model did not make, or that has ended.
func Answer(c *model.Case) error {
	g := &generator{subject: model.New(), reserved: map[int]*model.Reservation{}}
	g.made.LimitSets = c.LimitSets
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Op == model.Settle && g.reserved[s.Of] == nil {
			return fmt.Errorf("step %d settles step %d, which is no reservation that can be settled", i+1, s.Of)
		}
		g.answer(s)
		g.made.Steps = append(g.made.Steps, *s)
	}
	return nil
}

// reserve decides whether a take becomes a reserve, or settles an earlier reservation. A settle uses the reservation's
// limits.
func (g *generator) reserve(s *model.Step) {
	if !g.opts.Reserve || s.Op != model.Take || g.rand.IntN(3) == 0 {
		return
	}
	if len(g.reserved) > 0 && g.rand.IntN(2) == 0 {
		open := slices.Sorted(maps.Keys(g.reserved))
		s.Op, s.Of = model.Settle, pick(g.rand, open)
		s.Set = g.made.Steps[s.Of-1].Set
		if g.rand.IntN(2) == 0 {
			s.N = 0
		}
		if r := g.reserved[s.Of]; g.made.Steps[s.Of-1].TermUS > 0 {
			s.Stage = pick(g.rand, []string{model.Final, model.Report, model.Report, model.Overdue})
			s.AtUS = min(g.latest, pick(g.rand, []int64{s.AtUS, max(s.AtUS, r.EndsUS()-1), max(s.AtUS, r.EndsUS())}))
		}
		return
	}
	s.Op = model.Reserve
	s.AheadUS = pick(g.rand, []int64{0, g.rand.Int64N(1 + span(g.limit(s.Set))), longestAhead(g.limit(s.Set))})
	if g.rand.IntN(2) == 0 {
		s.TermUS = pick(g.rand, []int64{ms, 500 * ms, 20 * sec, 7 * 86400 * sec})
	}
}

// plainStep advances the time by an amount on the limit's time scale.
func (g *generator) plainStep() model.Step {
	s := model.Step{Set: g.set(), Op: g.op()}
	s.AtUS = g.later(g.pause(s.Set))
	if g.opts.ClockSteps && g.rand.IntN(8) == 0 {
		s.AtUS = g.earlier(s.Set)
	}
	s.N = g.units(s.Set)
	if s.Op == model.Take && g.counts(s.Set) {
		s.Op = model.Count
	}
	return s
}

// counts decides whether a step with a single fixed window counts instead of taking.
func (g *generator) counts(set int) bool {
	limits := g.made.LimitSets[set]
	return len(limits) == 1 && limits[0].Algorithm == model.FixedWindow && g.rand.IntN(4) == 0
}

func (g *generator) set() int { return g.rand.IntN(len(g.made.LimitSets)) }

func (g *generator) op() string {
	switch n := g.rand.IntN(100); {
	case n < 74:
		return model.Take
	case n < 86:
		return model.Peek
	case n < 92:
		return model.AtMost
	case n < 99:
		return model.Give
	}
	return model.Reset
}

// units draws a cost for a set's limits. It is usually small, and sometimes a large part of the capacity.
func (g *generator) units(set int) int64 {
	most := capacity(g.limit(set))
	switch g.rand.IntN(12) {
	case 0:
		return 0
	case 1, 2:
		return 1 + g.rand.Int64N(most)
	case 3:
		return 1 + g.rand.Int64N(1+most/3)
	}
	return 1 + g.rand.Int64N(3)
}

// limit returns a random limit in a set.
func (g *generator) limit(set int) model.Limit {
	limits := g.made.LimitSets[set]
	return limits[g.rand.IntN(len(limits))]
}

func (g *generator) pause(set int) int64 {
	l := g.limit(set)
	switch g.rand.IntN(8) {
	case 0, 1:
		return 0
	case 2:
		return g.rand.Int64N(3)
	case 3, 4:
		return g.rand.Int64N(1 + span(l))
	case 5:
		return g.rand.Int64N(1 + 3*span(l))
	}
	return g.rand.Int64N(1 + grain(l))
}

// later returns the instant us after now or, if it would exceed the range for scripts, a random earlier one.
func (g *generator) later(us int64) int64 {
	if room := max(0, g.latest-g.now); us > room {
		us = g.rand.Int64N(1 + room/16)
	}
	return g.now + us
}

// earlier sets the clock back: by a little, by less than a period, or by several periods.
func (g *generator) earlier(set int) int64 {
	l := g.limit(set)
	var back int64
	switch g.rand.IntN(5) {
	case 0:
		back = 1
	case 1:
		back = 1 + g.rand.Int64N(grain(l))
	case 2:
		back = 1 + g.rand.Int64N(span(l))
	case 3:
		back = g.near(span(l))
	default:
		back = 10*span(l) + g.rand.Int64N(1+span(l))
	}
	return max(earliestUS, g.now-back)
}

// near returns n, n−1 or n+1.
func (g *generator) near(n int64) int64 { return n + g.rand.Int64N(3) - 1 }
