package membership

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/engine"
)

// Config configures a member. The zero Config means the defaults.
type Config struct {
	// Group is the name of the group of processes. The names of the group's values in the coordinator begin with it. It
	// is up to 240 bytes long. The default is "processes".
	Group string
	// Name is this process's name in the lists of other processes, up to 200 bytes. It has no other effect. A random
	// suffix makes it unique.
	Name string
	// Markers is the number of values that reveal a loss of the store's data: 1 to 64. The default is 1. On a Cluster,
	// there should be at least one on each master.
	Markers int
	// Clock is read when the store has lost data. The default is the wall clock at New plus the time since then, so
	// that setting the wall clock has no effect.
	Clock func() time.Time
}

func (c *Config) check() error {
	if c.Group == "" {
		c.Group = DefaultGroup
	}
	if c.Markers == 0 {
		c.Markers = 1
	}
	if c.Clock == nil {
		start := time.Now()
		c.Clock = func() time.Time { return start.Add(time.Since(start)) }
	}
	refuse := func(field string, value any, accepted string) error {
		return &engine.InputError{Field: field, Value: fmt.Sprint(value), Accepted: accepted}
	}
	switch {
	case len(c.Group) > 240:
		return refuse("group", fmt.Sprint(len(c.Group))+" bytes", "1 to 240 bytes")
	case len(c.Name) > 200:
		return refuse("name", fmt.Sprint(len(c.Name))+" bytes", "up to 200 bytes")
	case c.Markers < 1 || c.Markers > 64:
		return refuse("markers", c.Markers, "1 to 64")
	default:
		return nil
	}
}
