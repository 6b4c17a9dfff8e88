package headgate

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// Penalty is a limit for callers that ignore denials, for use in a policy with other limits. It counts a key's denied
// requests that arrive before the retry-after of the previous denial is over. After Rate.Count such requests within
// Rate.Period it blocks the key: every request is denied, and nothing is counted. Each further block lasts twice as
// long, up to MaxBlock. Each block is shortened by up to an eighth, so that blocked keys do not return together. Each
// block halves the number of ignored denials that start the next one, down to one.
//
// A caller that waits until the retry-after is over is never blocked. With 10 a minute, a Block of a minute and a
// MaxBlock of an hour, a key that ignores denials is blocked after 10 of them for 53 to 60 s, then after 5 for 105 to
// 120 s, after 2 for 210 to 240 s, then after each one for twice as long as before, and finally for 53 to 60 minutes.
//
// A Soft penalty does not block. After the same number of ignored denials, it strikes the key. Each
// strike halves the key's part of the [FairShare] limits after the penalty in the same policy, down to an eighth,
// until the strike is forgotten. A key that does not compete with other keys still gets the whole rate.
type Penalty struct {
	// Rate determines when the first block starts or the first strike is made: after Rate.Count ignored denials
	// within Rate.Period.
	Rate Rate
	// Soft makes the penalty halve the key's part of fair shares instead of blocking the key. Block and MaxBlock must
	// then be 0.
	Soft bool
	// Block is the length of a key's first block: 1 ms to 366 days, by default the period of the rate.
	Block time.Duration
	// MaxBlock is the longest block: Block to 366 days, by default 32 times as long as the first.
	MaxBlock time.Duration
	// Forget is how long a block or strike is remembered, counted from the start of the last one: MaxBlock to 366 days,
	// by default MaxBlock. For a soft penalty it is 1 ms to 366 days, by default 32 times the period of the rate.
	Forget time.Duration
	// Name is the limit's name: see [Limit].
	Name string
}

func (p Penalty) rule() engine.Limit {
	return build(algo.Penalty, p.Rate, flag("soft", p.Soft), span("block", p.Block), span("max_block", p.MaxBlock), span("forget", p.Forget), word("name", p.Name))
}
