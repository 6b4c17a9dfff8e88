package fallback

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/membership"
	"github.com/headgate/headgate/memstore"
)

// The defaults of a Config.
const (
	DefaultSlow    = 50 * time.Millisecond
	DefaultMaxKeys = 1 << 16
)

// Bounds of [Config.Slow].
const (
	MinSlow = time.Millisecond
	MaxSlow = 10 * time.Second
)

// Config configures a store.
type Config struct {
	// Expect is the expected number of processes: 0 to 1000. The share is 1/n, where n is the number of processes in the
	// store's answers, if it has not changed for a minute. Until then it is the larger of Expect and that number. If
	// Expect is 0, a process decides nothing on its own before the number was stable once.
	Expect int
	// Slow is the answer time beyond which the store counts as unavailable: 1 ms to 10 s. The default is 50 ms. It
	// bounds the layer's own calls to the store: the tests, and the updates owed to the store. Other calls use their
	// callers' deadlines. If they fail, the store is tested, and taken out of use if its tests fail for four times Slow.
	Slow time.Duration
	// Lanes is the number of parts of the store that can be unavailable independently: 1 to 256. The default is 1.
	Lanes int
	// Lane returns the index, from 0, of the part that contains the limit of one of an operation's charges. It is
	// required if there are several lanes. Lanes without keys have no effect.
	Lane func(op *engine.Op, charge int) int
	// OnOutage, if it is set, is called when the store, or the first part of it, is taken out of use (away is true, and
	// cause is the error of its last call), and when the whole store is in use again (away is false). Shares decide in
	// between. The calls come one after another, from the layer's own goroutines, and must return soon.
	OnOutage func(away bool, cause error)
	// MaxKeys is the maximum number of keys whose remaining units are remembered: 64 to 2^24. The default is 65536,
	// which takes 1 MiB of memory. A key that is not remembered, or has spent at most an eighth of its limit, starts an
	// outage with a whole share.
	MaxKeys int
	// Memory configures the counters for outages, which are in the memory of this process. The default clock is the
	// member's, because a share must not refill when the wall clock is set.
	Memory memstore.Config
}

// SlowOf returns [Config.Slow] for a program whose calls to the store have a deadline: the deadline within the bounds, so
// that no test passes in a time in which decisions fail. Without a deadline (0 or less) it is the default.
func SlowOf(deadline time.Duration) time.Duration {
	if deadline <= 0 {
		return DefaultSlow
	}
	return min(max(deadline, MinSlow), MaxSlow)
}

func (c *Config) check(member *membership.Member) error {
	set := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	set(&c.Lanes, 1)
	set(&c.MaxKeys, DefaultMaxKeys)
	if c.Slow == 0 {
		c.Slow = DefaultSlow
	}
	if c.Memory.Clock == nil {
		c.Memory.Clock = member.Now
	}
	refuse := func(field string, value any, accepted string) error {
		return &engine.InputError{Field: field, Value: fmt.Sprint(value), Accepted: accepted}
	}
	switch {
	case c.Expect < 0 || c.Expect > engine.MaxMembers:
		return refuse("expect", c.Expect, "0 to 1000")
	case c.Slow < MinSlow || c.Slow > MaxSlow:
		return refuse("slow", c.Slow, "1ms to 10s")
	case c.Lanes < 1 || c.Lanes > 256 || c.Lanes > 1 && c.Lane == nil:
		return refuse("lanes", c.Lanes, "1 to 256, and for more than one a Lane")
	case c.MaxKeys < 64 || c.MaxKeys > 1<<24:
		return refuse("max_keys", c.MaxKeys, "64 to 16777216")
	default:
		return nil
	}
}
