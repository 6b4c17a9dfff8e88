package denycache_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/operate"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/denycache"
)

// Each class of a guaranteed rate has its own denials, so two classes that are denied in turn do not reach the store. A give
// by one class drops the denials of all, because its units can pass on.
func TestDenialsOfClasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := start(t, denycache.Config{MaxStale: time.Minute})
		var classes [3]engine.Limit
		for i := range classes {
			classes[i] = rule.GuaranteedRate(rule.PerHour(10), "6:3,2:2,0", rule.Burst(10), engine.Setting{Field: "rank", Units: int64(i + 1)})
		}
		for i, units := range []int{3, 2, 5} {
			for range units {
				if d := allow(t, l, "k", classes[i]); !d.Allowed {
					t.Fatalf("class %d: %+v", i+1, d)
				}
			}
		}
		for _, class := range classes {
			allow(t, l, "k", class)
		}
		asked := f.asked
		for range 10 {
			for i, class := range classes {
				if d := allow(t, l, "k", class); d.Allowed || d.Promise.Mode != engine.Cached {
					t.Fatalf("class %d: %+v; want its denial, repeated", i+1, d)
				}
			}
		}
		if f.asked != asked {
			t.Errorf("the store was asked %d times for known denials", f.asked-asked)
		}
		give(t, l, "k", classes[2])
		for i, class := range classes {
			if d := allow(t, l, "k", class); d.Promise.Mode == engine.Cached || d.Allowed != (i == 0) {
				t.Errorf("class %d after a give: %+v; want the store's answer", i+1, d)
			}
		}
	})
}

func give(t *testing.T, l *headgate.Limiter, key string, limit engine.Limit) {
	t.Helper()
	if _, err := operate.Policy(l, "", limit).Give(context.Background(), key, 1); err != nil {
		t.Fatal(err)
	}
}
