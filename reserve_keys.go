package headgate

import (
	"crypto/rand"
	"strings"

	"github.com/headgate/headgate/engine"
)

// ofSeveralKeys returns what an allowed operation charged, a reservation for each of its charges: an
// [engine.Reservation] has one key. It is nil if the operation has one key, or if shares of the process
// answered, whose charges then stay as they are.
func ofSeveralKeys(op *engine.Op, o *engine.Outcome) (held []*engine.Reservation) {
	several := false
	for i := range op.Charges {
		_, key := op.Subject(i)
		several = several || key != op.Key
	}
	if !several {
		return nil
	}
	held = []*engine.Reservation{}
	for i := range op.Charges {
		if op.Charges[i].Cost == 0 || o.ByShares != nil {
			continue
		}
		one := engine.Op{Charges: []engine.Charge{{Limit: op.Charges[i].Limit, Cost: op.Charges[i].Cost}}}
		one.Space, one.Key = op.Subject(i)
		one.Space, one.Key = strings.Clone(one.Space), strings.Clone(one.Key) // the caller's memory ends with its call
		outcome := engine.Outcome{AtMicros: o.AtMicros, Standing: o.Standing}
		if o.Limits != nil {
			outcome.Standing = o.Limits[i].Standing
		}
		held = append(held, outcome.Reservation(&one, rand.Text()))
	}
	return held
}
