package script

import (
	"fmt"
	"math/rand/v2"

	"github.com/headgate/headgate/conform/model"
)

// GenerateLeases makes one case of a concurrency limit with a few holders. Most steps are at an expiry ± 1 µs or at
// capacity ± 1 unit. With Extras the holders' lease times differ.
func GenerateLeases(r *rand.Rand, steps int, opts Options) model.LeaseCase {
	var c model.LeaseCase
	for range 1 + 2*r.IntN(2) {
		c.Limits = append(c.Limits, model.Limit{Algorithm: model.Concurrency, Limit: pick(r, []int64{1, 2, 5, 20})})
		if !opts.Changes {
			break
		}
	}
	leases := []int64{pick(r, []int64{ms, sec, 60 * sec})}
	if opts.Extras {
		leases = append(leases, 3*leases[0])
	}
	s := model.New()
	now, until := startUS+r.Int64N(sec), int64(0)
	for range steps {
		step := model.LeaseStep{
			Limit:   r.IntN(len(c.Limits)),
			Op:      leaseOp(r),
			ID:      fmt.Sprintf("h%d", r.IntN(8)),
			LeaseUS: pick(r, leases),
		}
		step.AtUS = leaseTime(r, now, until, step.LeaseUS, opts)
		step.Cost = leaseCost(r, c.Limits[step.Limit])
		step.Want = s.ApplyLease(c.Limits[step.Limit], step)
		c.Steps = append(c.Steps, step)
		now, until = step.AtUS, step.Want.ResetAfterUS
		if us := step.Want.RetryAfterUS; us != nil && *us > 0 {
			until = *us
		}
	}
	return c
}

func leaseOp(r *rand.Rand) string {
	switch n := r.IntN(10); {
	case n < 6:
		return model.Acquire
	case n < 7:
		return model.Renew
	case n < 9:
		return model.Release
	}
	return model.Held
}

func leaseTime(r *rand.Rand, now, until, leaseUS int64, opts Options) int64 {
	if opts.ClockSteps && r.IntN(8) == 0 {
		return now - 1 - r.Int64N(2*leaseUS)
	}
	switch r.IntN(4) {
	case 0, 1:
		return now + max(0, until+r.Int64N(3)-1)
	case 2:
		return now + r.Int64N(leaseUS)
	}
	return now
}

func leaseCost(r *rand.Rand, l model.Limit) int64 {
	if r.IntN(3) == 0 {
		return l.Limit + r.Int64N(3) - 1
	}
	return 1 + r.Int64N(2)
}
