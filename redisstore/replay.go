package redisstore

import (
	"github.com/headgate/headgate/engine/algo"
)

// What a script of runs found at a key: nothing, a state, or an error; and an
// error of its own writing, with what stands there still.
// What is below the errors is a state, which begins with its format.
const (
	foundNothing   = 0
	foundError     = 254
	foundUnwritten = 255
)

// found is what stood at a key.
type found struct {
	state   algo.State
	problem string // nothing was decided
	refusal string // nothing could be written
}

// found reads it.
func (r *reader) found(l *algo.Limit) (f found) {
	mark := r.integer(1)
	if mark == foundUnwritten {
		f.refusal = r.take(int(r.integer(1)))
		mark = r.integer(1)
	}
	switch mark {
	case foundNothing:
	case foundError:
		f.problem = r.take(int(r.integer(1)))
	case format - 1, format:
		f.state = r.state(l)
	default:
		r.bad = true
	}
	return f
}

// state reads a state behind its format byte: docs/design/keys.md.
func (r *reader) state(l *algo.Limit) algo.State {
	if l.Algorithm == algo.FixedWindow {
		count, end := r.integer(4), r.integer(8)
		return algo.StoredFixed(count, end)
	}
	at, whole, part, count, period := r.integer(8), r.integer(7), r.integer(7), r.integer(4), r.integer(7)
	if count == 0 || period == 0 {
		r.bad = true
	}
	return algo.StoredBucket(l.Algorithm, at, whole, part, count, period)
}

// replay answers a call of runs, and returns the operations that have to be
// asked again.
func (p *plan) replay(g *grouping, r *reader, at int64, last bool, kept []int) []int {
	for n := range g.groups {
		of := &g.groups[n]
		for next := of.first; next != none; next = g.runs[next].next {
			f := r.found(of.limit.Numbers())
			for i := g.runs[next].first; i != none; i = g.next[i] {
				result := &p.results[i]
				switch {
				case r.bad:
					result.Err = p.store.fail(OutcomeUnknown, errReply.Error(), nil)
				case f.problem == "RECOMPUTE" && !last:
					kept = append(kept, int(i))
				case f.problem != "":
					result.Err = p.store.refusal(f.problem, false)
				default:
					p.step(&f, int(i), at)
				}
			}
		}
	}
	return append(kept, g.later...)
}

// step decides one operation on what stands at its key, as the script has.
func (p *plan) step(f *found, i int, at int64) {
	op, result := &p.ops[i], &p.results[i]
	steps := p.steps[:1]
	steps[0] = op.Step(0)
	steps[0].State = f.state
	allowed, granted := op.Decide(steps, algo.Instant{Now: at, Wall: at})
	if steps[0].Write {
		if f.refusal != "" {
			result.Err = p.store.refusal(f.refusal, false)
			return
		}
		f.state = steps[0].State
	}
	result.Outcome.Fill(op, steps, allowed, granted, at)
}
