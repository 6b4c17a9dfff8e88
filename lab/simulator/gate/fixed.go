package gate

import (
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/lab/simulator/model"
)

// None admits everything.
type None struct{}

// Allow admits every attempt.
func (None) Allow(int64, model.Attempt) (bool, int64) { return true, 0 }

// Done does nothing.
func (None) Done(int64, model.Sample) {}

// Limit returns 0, because there is no limit.
func (None) Limit() float64 { return 0 }

// lease is the lease time in seconds. It exceeds the duration of every attempt, so that permits never expire.
const lease = 24 * 3600

// Fixed is Headgate's concurrency limit.
type Fixed struct {
	step    [1]algo.Step
	holders []string
}

// NewFixed returns a gate with a limit of n attempts in flight: 1 to 2^48 − 1.
func NewFixed(n int64) (*Fixed, error) {
	limit, err := engine.ParseLimit("concurrency " + strconv.FormatInt(n, 10) + " lease " + strconv.Itoa(lease) + "s")
	if err != nil {
		return nil, err
	}
	f := &Fixed{}
	f.step[0] = algo.Step{Limit: limit.Numbers(), Cost: 1}
	return f, nil
}

// holder returns the holder's id for a slot.
func (f *Fixed) holder(slot int32) string {
	for int(slot) >= len(f.holders) {
		f.holders = append(f.holders, strconv.Itoa(len(f.holders)))
	}
	return f.holders[slot]
}

// Allow acquires a permit. The wait for a permit is unknown, because it depends on other requests.
func (f *Fixed) Allow(now int64, a model.Attempt) (bool, int64) {
	return algo.Acquire(f.step[:], instant(now), f.holder(a.Slot)), 0
}

// Done releases the permit.
func (f *Fixed) Done(now int64, s model.Sample) {
	algo.Release(f.step[:], instant(now), f.holder(s.Slot))
}

// Limit returns the number of permits.
func (f *Fixed) Limit() float64 { return float64(f.step[0].Limit.Count) }

// epoch is virtual time 0, in µs since 1970.
const epoch = 1_767_225_600_000_000

func instant(now int64) algo.Instant { return algo.Instant{Now: epoch + now, Wall: epoch + now} }
