package script

import (
	"math/bits"

	"github.com/headgate/headgate/lab/model"
)

// edgeStep draws a step with a time or cost where answers change.
func (g *generator) edgeStep() model.Step {
	g.edges++
	if g.rand.IntN(2) == 0 {
		if s, ok := g.instantStep(); ok {
			return s
		}
	}
	return g.unitStep()
}

// instantStep moves the clock to an edge ± 1 µs. After a denial it mostly uses the denied cost.
func (g *generator) instantStep() (model.Step, bool) {
	var reachable []int64
	for _, at := range g.instant {
		back := at < g.now && g.opts.ClockSteps && at > earliestUS && g.rand.IntN(4) == 0
		if back || at >= g.now && at < g.latest {
			reachable = append(reachable, at)
		}
	}
	if len(reachable) == 0 {
		return model.Step{}, false
	}
	at := g.near(reachable[g.rand.IntN(len(reachable))])
	if !g.opts.ClockSteps {
		at = max(at, g.now)
	}
	s := model.Step{AtUS: at, Set: g.set(), Op: g.op(), N: g.units(g.last.Set)}
	if !g.last.Want.Allowed && g.rand.IntN(3) > 0 {
		s.Set, s.Op, s.N = g.last.Set, model.Take, g.last.N
	}
	return s, true
}

// unitStep draws a cost equal to the remaining units, the capacity, or another version's capacity, ± 1 unit.
func (g *generator) unitStep() model.Step {
	s := model.Step{AtUS: g.now, Set: g.set(), Op: g.op()}
	edge := capacity(g.limit(s.Set))
	switch g.rand.IntN(6) {
	case 0, 1, 2:
		edge = g.subject.Apply(g.made.LimitSets[s.Set], model.Peek, 1, g.now).Remaining
	case 3:
		edge = capacity(g.limit(g.set()))
	case 4:
		s.AtUS = g.later(g.pause(s.Set))
	}
	s.N = max(1, g.near(edge))
	return s
}

// learn records the instants in an answer, and the instants when the limits' segments and windows begin.
func (g *generator) learn(s model.Step) {
	g.instant = g.instant[:0]
	if us := s.Want.RetryAfterUS; us != nil {
		g.note(*us)
	}
	g.note(s.Want.ResetAfterUS)
	g.note(s.Want.DelayUS)
	for _, l := range g.made.LimitSets[s.Set] {
		for _, us := range []int64{grain(l), span(l)} {
			g.note(us - s.AtUS%us)
		}
		if g.opts.ClockSteps {
			g.note(-span(l))
		}
	}
}

func (g *generator) note(us int64) {
	if us != 0 {
		g.instant = append(g.instant, g.now+us)
	}
}

// The functions below decide by the limit's fields. A limit with a burst counts as a token bucket or a pacer, which
// refill unit by unit. The functions predict where edges are likely, so a limit that refills differently has fewer
// steps at its edges. They also bound the instants in a script. A limit whose units all refill at once therefore needs
// its own functions in its [drawing].

// capacity returns the largest cost that can pass.
func capacity(l model.Limit) int64 {
	switch {
	case l.Burst > 0 && l.MaxQueue != nil:
		return l.Burst + *l.MaxQueue
	case l.Burst > 0:
		return l.Burst + l.Debt
	case len(l.Windows) > 0:
		return l.Windows[0].Limit
	}
	return l.Limit
}

// span returns a limit's time scale: the time of a full refill, or the longest window.
func span(l model.Limit) int64 {
	if own := drawings[l.Algorithm].span; own != nil {
		return own(l)
	}
	switch {
	case l.Burst > 0:
		return refill(l, l.Burst)
	case len(l.Windows) > 0:
		return l.Windows[len(l.Windows)-1].WindowUS
	case l.Calendar != "":
		return calendars[l.Calendar]
	}
	return l.WindowUS
}

// memory returns the longest time that a limit's state can matter.
func memory(l model.Limit) int64 {
	if own := drawings[l.Algorithm].memory; own != nil {
		return own(l)
	}
	if l.Burst > 0 {
		return refill(l, capacity(l))
	}
	return span(l)
}

// longestAhead returns the longest delay that a reserve in a script accepts.
func longestAhead(l model.Limit) int64 { return min(year, 10*span(l)) }

// lasts returns the longest time that a limit's state can matter in a script. The time allows for units reserved in
// advance, and for costs that the next request pays.
func lasts(l model.Limit, opts Options) int64 {
	us := memory(l)
	if opts.Reserve {
		us += max(longestAhead(l), span(l)) // reserve draws delays up to the larger of the two
	}
	switch {
	case l.NextPays && opts.All: // a cost can be as large as another limit allows
		us += 101 * year
	case l.NextPays:
		us += 2 * memory(l)
	case l.IntervalUS > 0: // a settlement may charge the same amount again
		us += memory(l)
	}
	return us
}

// refill returns the time to refill a number of units, at most 2^60 µs.
func refill(l model.Limit, units int64) int64 {
	hi, lo := bits.Mul64(uint64(units), uint64(l.PeriodUS))
	if hi > 0 && hi*16 >= uint64(l.Count) {
		return 1 << 60
	}
	us, _ := bits.Div64(hi, lo, uint64(l.Count))
	return max(1, int64(min(us, 1<<60)))
}

// grain returns the shortest time that changes a state: the time to refill one unit, or one segment.
func grain(l model.Limit) int64 {
	if own := drawings[l.Algorithm].grain; own != nil {
		return own(l)
	}
	if l.Burst > 0 {
		return max(1, l.PeriodUS/l.Count)
	}
	return span(l)
}
