package fallback

import (
	"context"
	"testing"
	"time"

	"github.com/headgate/headgate/memstore"
)

// interrupted is a coordinator that runs a function after each read.
type interrupted struct {
	*memstore.Store
	after func()
}

func (c *interrupted) Get(ctx context.Context, name string) (text string, version int64, err error) {
	text, version, err = c.Store.Get(ctx, name)
	after := c.after
	c.after = func() {}
	after()
	return text, version, err
}

// A beat and a lane's probe may check the markers at the same time. If one of them has incremented a marker, the
// other must not take that for a loss.
func TestTwoLooksAreNoLoss(t *testing.T) {
	store, err := memstore.New(memstore.Config{MaxKeys: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	coordinator := &interrupted{Store: store, after: func() {}}
	p := new(processes)
	p.init(coordinator, &Config{Group: "g", Markers: 1, Memory: memstore.Config{Clock: time.Now}})
	for range 3 {
		for range 3 {
			if err := p.look(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		coordinator.after = func() {
			if err := p.look(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := p.look(t.Context()); err != nil || p.losses.Load() > 0 || p.lost.Load() != 0 {
			t.Fatalf("%d losses, %v; want none", p.losses.Load(), err)
		}
	}
}
