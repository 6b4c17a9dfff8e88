package headgate

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// Penalty is a limit for callers that ignore denials. It needs another limit in its policy. Failures, such as wrong
// passwords, are counted by httplimit.WithFinalCost(httplimit.OnlyFailures) instead. A penalty counts a key's denied
// requests that arrive before the retry-after of the previous denial is over. After Rate.Count such requests within
// Rate.Period it blocks the key: every request is denied, and nothing is counted. Each further block lasts twice as
// long, up to MaxBlock. Each block is shortened by up to an eighth, so that blocked keys do not return together. Each
// block halves the number of ignored denials that start the next one, down to one.
//
// A caller that waits until the retry-after is over is never blocked. With 10 a minute, a Block of a minute and a
// MaxBlock of an hour, a key that ignores denials is blocked after 10 of them for 53 to 60 s, then after 5 for 105 to
// 120 s, and finally after each one for 53 to 60 minutes.
type Penalty struct {
	// Rate determines when the first block starts: after Rate.Count ignored denials within Rate.Period.
	Rate Rate
	// Block is the length of a key's first block: 1 ms to 366 days, by default the period of the rate.
	Block time.Duration
	// MaxBlock is the longest block: Block to 366 days, by default 32 times as long as the first.
	MaxBlock time.Duration
	// Forget is how long a block is remembered, counted from the start of the last one: MaxBlock to 366 days, by default
	// MaxBlock.
	Forget time.Duration
	// Name is the limit's name: see [Limit].
	Name string
}

func (p Penalty) rule() engine.Limit {
	return build(algo.Penalty, p.Rate, span("block", p.Block), span("max_block", p.MaxBlock), span("forget", p.Forget), word("name", p.Name))
}
