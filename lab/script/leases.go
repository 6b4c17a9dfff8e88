package script

import (
	"fmt"
	"math/rand/v2"

	"github.com/headgate/headgate/lab/model"
)

// GenerateLeases returns a case for a concurrency limit with a few holders, or for a fair concurrency limit with three
// keys. Most steps are at an expiry ± 1 µs, or at capacity ± 1 unit. If Extras is set, the holders use different lease
// times.
func GenerateLeases(r *rand.Rand, steps int, opts Options) model.LeaseCase {
	c := model.LeaseCase{Limits: leaseLimits(r, opts)}
	leases := []int64{pick(r, []int64{ms, sec, 60 * sec})}
	if opts.Extras {
		leases = append(leases, 3*leases[0])
	}
	s := model.New()
	now, until := startUS+r.Int64N(sec), int64(0)
	ids := 8
	if c.Limits[0].Key != "" { // for each key
		ids = 3
	}
	for range steps {
		step := model.LeaseStep{
			Limit:   r.IntN(len(c.Limits)),
			Op:      leaseOp(r),
			ID:      fmt.Sprintf("h%d", r.IntN(ids)),
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

func leaseLimits(r *rand.Rand, opts Options) (limits []model.Limit) {
	if r.IntN(2) == 0 {
		most := int64(0)
		for i, key := range []string{"a", "b", "c", "a", "b"} {
			if most == 0 || opts.Changes {
				most = pick(r, []int64{10, 12, 19, 40})
			}
			if i < 3 || opts.Changes {
				limits = append(limits, model.Limit{Algorithm: model.FairConcurrency, Key: key, Limit: most, FairFields: model.FairFields{Weight: pick(r, []int64{1, 1, 3, 100})}})
			}
		}
		return limits
	}
	for range 1 + 2*r.IntN(2) {
		limits = append(limits, model.Limit{Algorithm: model.Concurrency, Limit: pick(r, []int64{1, 2, 5, 20})})
		if !opts.Changes {
			break
		}
	}
	return limits
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
	switch n := r.IntN(6); {
	case n < 2:
		return l.Limit + r.Int64N(3) - 1
	case n < 4 && l.Weight > 0:
		return 1 + r.Int64N(l.Limit)
	}
	return 1 + r.Int64N(2)
}
