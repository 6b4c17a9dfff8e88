package fallback

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/layer/internal/keymap"
	"github.com/headgate/headgate/memstore"
)

// The defaults of a Config.
const (
	DefaultGroup   = "processes"
	DefaultSlow    = 50 * time.Millisecond
	DefaultMaxKeys = 1 << 16
)

// The bounds of [Config.Slow].
const (
	MinSlow = time.Millisecond
	MaxSlow = 10 * time.Second
)

// Config sets up a store.
type Config struct {
	// Expect is how many processes there are at least: 0 to 1000. The share is 1/n for the
	// larger of Expect and the number that was last heard of. With 0 a process that has
	// never heard of the others answers nothing by itself.
	Expect int
	// All answers every operation, and not only those with [engine.Op].Local.
	All bool
	// Group names the group of processes, and values of the coordinator: 1 to 240 bytes.
	// The default is "processes".
	Group string
	// Name is what the other processes see of this one, up to 200 bytes: they list it, and
	// it decides nothing. A random text is appended, so that no two are the same.
	Name string
	// Slow is how long an answer may take until the store counts as away: 1 ms to 10 s. The
	// default is 50 ms. It is for the store's tests of its own; callers bring their deadlines.
	Slow time.Duration
	// Markers is how many values show that the store has lost its data: 1 to 64. The default
	// is 1. On a Cluster each master should have some.
	Markers int
	// Lanes is how many parts of the store can be away one by one: 1 to 256. The default is 1.
	Lanes int
	// Lane returns the part that one of an operation's limits is on, from 0. It is needed for
	// several lanes. Lanes that no key is on have no effect.
	Lane func(op *engine.Op, charge int) int
	// MaxKeys is of how many keys it is remembered what they have left: 64 to 2^24. The
	// default is 65536, 1 MiB. A key that is not remembered, or that has spent an eighth of
	// its limit at most, begins an outage with its share of an untouched limit.
	MaxKeys int
	// Memory bounds the counters of an outage, which are in the memory of this process.
	Memory memstore.Config
}

func (c *Config) check() error {
	set := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	set(&c.Markers, 1)
	set(&c.Lanes, 1)
	set(&c.MaxKeys, DefaultMaxKeys)
	if c.Group == "" {
		c.Group = DefaultGroup
	}
	if c.Slow == 0 {
		c.Slow = DefaultSlow
	}
	if c.Memory.Clock == nil {
		// The wall clock can be set: a share must not refill by that.
		start := time.Now()
		c.Memory.Clock = func() time.Time { return start.Add(time.Since(start)) }
	}
	refuse := func(field string, value any, accepted string) error {
		return &engine.InputError{Field: field, Value: fmt.Sprint(value), Accepted: accepted}
	}
	switch {
	case c.Expect < 0 || c.Expect > engine.MaxMembers:
		return refuse("expect", c.Expect, "0 to 1000")
	case len(c.Group) > 240:
		return refuse("group", fmt.Sprint(len(c.Group))+" bytes", "1 to 240 bytes")
	case len(c.Name) > 200:
		return refuse("name", fmt.Sprint(len(c.Name))+" bytes", "up to 200 bytes")
	case c.Slow < MinSlow || c.Slow > MaxSlow:
		return refuse("slow", c.Slow, "1ms to 10s")
	case c.Markers < 1 || c.Markers > 64:
		return refuse("markers", c.Markers, "1 to 64")
	case c.Lanes < 1 || c.Lanes > 256 || c.Lanes > 1 && c.Lane == nil:
		return refuse("lanes", c.Lanes, "1 to 256, and for more than one a Lane")
	case c.MaxKeys < keymap.Shards || c.MaxKeys > 1<<24:
		return refuse("max_keys", c.MaxKeys, "64 to 16777216")
	default:
		return nil
	}
}
