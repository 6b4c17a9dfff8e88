package gate

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/lab/simulator/model"
)

// Bucket is Headgate's token bucket for all attempts, with an optional second bucket for each tenant. Each attempt is
// charged to both buckets in one step, or to neither.
type Bucket struct {
	steps   []algo.Step
	pool    algo.State
	tenants []algo.State
}

// NewBucket returns a gate with one limit for the pool and one for each tenant, such as "100/s burst 20". An empty
// tenant limit means no limit.
func NewBucket(pool, tenant string, tenants int) (*Bucket, error) {
	b := &Bucket{tenants: make([]algo.State, max(tenants, 1))}
	for _, text := range []string{pool, tenant} {
		if text == "" {
			continue
		}
		limit, err := engine.ParseLimit(text)
		if err != nil {
			return nil, err
		}
		b.steps = append(b.steps, algo.Step{Limit: limit.Numbers()})
	}
	return b, nil
}

// Allow charges one unit. It returns the wait that Headgate would send as Retry-After.
func (b *Bucket) Allow(now int64, a model.Attempt) (bool, int64) {
	states := [2]*algo.State{&b.pool, &b.tenants[a.Tenant]}
	for i := range b.steps {
		b.steps[i] = algo.Step{Limit: b.steps[i].Limit, Cost: 1, State: *states[i]}
	}
	allowed, wait := algo.Allow(b.steps, instant(now)), int64(0)
	for i := range b.steps {
		s := &b.steps[i]
		if s.Write {
			*states[i] = s.State
		}
		if !allowed {
			wait = max(wait, s.Outcome.Wait)
		}
	}
	return allowed, wait
}

// Done does nothing, because a bucket does not track when attempts end.
func (b *Bucket) Done(int64, model.Sample) {}

// Limit returns 0, because a bucket limits a rate and not a number in flight.
func (b *Bucket) Limit() float64 { return 0 }
