package llm

import (
	"context"
	"fmt"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// A stream that is cut off is charged exactly once. The charge is the number of streamed units if the caller reports it
// at the end, or else the last report, or else the estimate. Azure/kars#12 charged 0.
func cutStreams(w *world) {
	const estimate, term = 1000, 10 * time.Millisecond
	cuts := []struct {
		by       string
		then     engine.Unsettled
		reported []int64 // after each chunk
		commit   int64   // the process's final report; negative if the process ends with the stream
		want     int64
	}{
		{"the client, before the first chunk", engine.KeepCharge, nil, 20, 20},
		{"the client, at the third chunk", engine.KeepCharge, []int64{300, 600, 900}, 950, 950},
		{"the upstream, beyond the estimate", engine.ReleaseCharge, []int64{600, 1200, 1800}, 1850, 1850},
		{"the upstream, with a commit below the report", engine.KeepCharge, []int64{300, 600}, 10, 600},
		{"the end of the process, before the first chunk", engine.KeepCharge, nil, -1, estimate},
		{"the end of the process, at the second chunk", engine.KeepCharge, []int64{300, 600}, -1, estimate},
		{"the end of the process, beyond the estimate", engine.KeepCharge, []int64{600, 1200}, -1, 1200},
		{"the end of the process, where only reports count", engine.ReleaseCharge, []int64{300, 600}, -1, 600},
	}
	for _, tokens := range counted(rule.PerDay(10_000)) {
		var open []*headgate.Reservation
		key := func(i int) string { return fmt.Sprint(tokens.policy, " of stream ", i) }
		for i, cut := range cuts {
			r := w.stream(tokens, key(i), estimate, term, cut.then)
			for _, used := range cut.reported {
				if err := r.Report(context.Background(), 1, used); err != nil {
					w.Fatalf("cut by %s: a report of %d: %v", cut.by, used, err)
				}
			}
			if cut.commit >= 0 {
				if done, _ := w.a.commit(r.String(), 1, cut.commit); !done {
					w.Errorf("cut by %s: the commit found no reservation", cut.by)
				}
			}
			open = append(open, r)
		}
		w.clock.Advance(term)
		w.endOverdue()
		for i, cut := range cuts {
			// The other process holds the same reservation and settles it again.
			if done, _ := w.b.commit(open[i].String(), 1, 7777); done {
				w.Errorf("cut by %s: settled twice", cut.by)
			}
			w.b.left(tokens, key(i), 10_000-cut.want)
		}
	}
}

// stream reserves one request and an estimated number of tokens, with a term.
func (w *world) stream(tokens named, key string, estimate int64, term time.Duration, then engine.Unsettled) *headgate.Reservation {
	w.Helper()
	r, d, err := w.a.ReserveAll(context.Background(),
		headgate.Charge{Policy: w.a.Limiter.PolicyOf(requests.policy, requests.limit).SettleWithin(term, then), Key: key, Units: 1},
		headgate.Charge{Policy: w.a.Limiter.PolicyOf(tokens.policy, tokens.limit).SettleWithin(term, then), Key: key, Units: estimate})
	if r == nil {
		w.Fatalf("denied: %+v, %v", d, err)
	}
	return r
}

// endOverdue ends reservations whose terms have expired, as every limiter does once per second.
func (w *world) endOverdue() {
	w.Helper()
	ctx, keeper := context.Background(), engine.KeeperOf(w.a.store)
	for open := int64(1); open > 0; {
		due, err := keeper.Due(ctx) // on a Cluster, this returns one of 30 parts of the slots
		if err != nil {
			w.Fatal(err)
		}
		for _, r := range due {
			w.a.Limiter.Core().Decide(ctx, r.Overdue())
		}
		if open, err = keeper.OpenCount(ctx); err != nil {
			w.Fatal(err)
		}
	}
}
