package redisstore

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// never is the wait that a script answers where a cost can never pass.
const never = 1 << 53

// errReply is a reply that no script of ours gives.
var errReply = errors.New("redisstore: a reply that cannot be read")

// reader reads a script's reply: the store's time, and an answer an operation.
type reader struct {
	text string
	bad  bool
}

// take returns the next bytes, and nothing where there are not so many.
func (r *reader) take(size int) string {
	if len(r.text) < size {
		r.text, r.bad = "", true
		return ""
	}
	head := r.text[:size]
	r.text = r.text[size:]
	return head
}

func (r *reader) integer(size int) int64 {
	var word [8]byte
	if text := r.take(size); text != "" {
		copy(word[8-size:], text)
	}
	return int64(binary.BigEndian.Uint64(word[:]))
}

// The statuses of an answer.
const (
	refused = iota
	allowed
	failed        // an error that changed nothing
	failedHalfway // an error after something was written
)

// answer reads one operation's answer into its result. text is the error that
// the script reports, if any.
func (r *reader) answer(op *engine.Op, result *engine.Result, steps []algo.Step, atMicros int64) (text string, halfway bool) {
	status := r.integer(1)
	if status >= failed {
		if text = r.take(int(r.integer(1))); r.bad {
			text = ""
		}
		return text, status == failedHalfway
	}
	if op.Kind == engine.OpReset || op.Kind == engine.OpExpiry {
		result.Found = status == allowed
		if span := r.integer(8); op.Kind == engine.OpExpiry {
			result.TTL = time.Duration(span) * time.Microsecond
		}
		return "", false
	}
	granted := r.integer(7)
	for i := range op.Charges {
		r.outcome(&op.Charges[i], &steps[i])
	}
	passed := status == allowed
	if op.Kind == engine.OpRelease {
		result.Found, passed = passed, true
	}
	switch {
	case op.Kind == engine.OpAtMost:
	case passed && (op.Kind == engine.OpAllow || op.Kind == engine.OpAcquire):
		granted = op.Units()
	default:
		granted = 0
	}
	result.Outcome.Fill(op, steps[:len(op.Charges)], passed, granted, atMicros)
	return "", false
}

func (r *reader) outcome(c *engine.Charge, step *algo.Step) {
	*step = algo.Step{Limit: c.Limit.Numbers()}
	o := &step.Outcome
	o.Remaining, o.Wait, o.Reset, o.Delay, o.After = r.integer(8), r.integer(8), r.integer(8), r.integer(8), r.integer(7)
	o.Window = int(r.integer(1))
	if o.Wait == never {
		o.Wait = algo.Never
	}
	switch n := step.Limit; n.Algorithm {
	case algo.TokenBucket, algo.Pacer:
		o.Limit = n.Burst
	case algo.DenyAll, algo.Unlimited:
	default:
		o.Limit = n.Count
		if w, ok := n.Window(o.Window); ok {
			o.Limit = w.Limit
		}
	}
}
