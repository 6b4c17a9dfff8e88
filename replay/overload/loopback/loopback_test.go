package loopback

import (
	"context"
	"flag"
	"math"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headgate/headgate/replay/overload/gate"
	"github.com/headgate/headgate/replay/overload/model"
)

var real = flag.Bool("real", false, "compare with the simulated goodput: three runs of 20 s")

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

const second = 1_000_000

// config returns a configuration with ten workers that take 40 ms per request (250 requests a second) and clients that
// wait for 800 ms.
func config(seconds int64, rate float64) model.Config {
	return model.Config{
		Seed: 1, Length: seconds * second,
		Server:  model.Server{Workers: model.Constant(10), Service: model.Service{Shape: model.Lognormal, Mean: 40_000, Spread: 0.5}},
		Clients: []model.Client{{Rate: model.Constant(rate), Deadline: 800_000}},
	}
}

// TestPlayCountsEveryCall checks that every call counts as good, denied or late, and that no call passes a gate that
// denies everything.
func TestPlayCountsEveryCall(t *testing.T) {
	c := config(1, 200)
	c.Length = second / 5
	fixed, err := gate.NewFixed(2)
	if err != nil {
		t.Fatal(err)
	}
	count, err := Play(t.Context(), c, fixed)
	if err != nil || count.Sum() == 0 || count.Denied == 0 || count.Good+count.Late == 0 || count.Unsent != 0 {
		t.Errorf("%+v, %v", count, err)
	}
	none, err := Play(t.Context(), c, deny{})
	if err != nil || none.Good != 0 || none.Sum() != count.Sum() {
		t.Errorf("denying everything: %+v, %v; want %d calls", none, err, count.Sum())
	}
}

type deny struct{ gate.None }

func (deny) Allow(int64, model.Attempt) (bool, int64) { return false, 0 }

func TestPlayRejectsInvalidTraces(t *testing.T) {
	for name, spoil := range map[string]func(*model.Config){
		"too long": func(c *model.Config) { c.Length = (MaxLength + time.Second).Microseconds() },
		"retries":  func(c *model.Config) { c.Clients[0].Retry.Max = 1 },
		"no rate":  func(c *model.Config) { c.Clients[0].Users = 5 },
		"too fast": func(c *model.Config) { c.Clients[0].Rate = model.Constant(MaxRate + 1) },
	} {
		c := config(1, 10)
		spoil(&c)
		if _, err := Play(t.Context(), c, gate.None{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Play(ended, config(10, 10), gate.None{}); err == nil {
		t.Error("an ended context: no error")
	}
}

// TestGoodputAsSimulated checks that the goodput is within 10 % of the simulated goodput: for a fixed limit under
// overload, for an adaptive limit while a dependency is slow, and for another adaptive limit under bursts. A run
// without a limit cannot be compared, because the goodput of a growing queue depends on the last percent of the
// capacity.
func TestGoodputAsSimulated(t *testing.T) {
	if !*real {
		t.Skip("needs a quiet machine: make simulate-real")
	}
	overload := config(20, 375)
	bursts := config(20, 0)
	bursts.Clients[0].Rate = model.Alternating(500, 50, second, 2*second, 20*second)
	slow := config(20, 225)
	slow.Server.Slowdown = model.Steps(model.Point{At: 0, Value: 1}, model.Point{At: 5 * second, Value: 3}, model.Point{At: 15 * second, Value: 1})
	for _, c := range []struct {
		name   string
		config model.Config
		gate   func() model.Gate
	}{
		{"overload, fixed 20", overload, func() model.Gate { g, _ := gate.NewFixed(20); return g }},
		{"slow dependency, AIMD", slow, func() model.Gate { return gate.NewAdaptive(gate.NewAIMD(200_000)) }},
		{"bursts, Gradient2", bursts, func() model.Gate { return gate.NewAdaptive(gate.NewGradient2()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			tally, err := model.Run(c.config, c.gate())
			if err != nil {
				t.Fatal(err)
			}
			sum := tally.Sum()
			want := float64(sum.Good) / float64(sum.Offered)
			count, err := Play(t.Context(), c.config, c.gate())
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("goodput: simulated %.3f of %d calls, real %.3f of %d, ratio %.3f", want, sum.Offered, count.Goodput(), count.Sum(), count.Goodput()/want)
			if math.Abs(count.Goodput()/want-1) > 0.1 {
				t.Errorf("real %+v", count)
			}
		})
	}
}
