package adaptive_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
)

const (
	ms     = 1000
	second = 1000 * ms
)

func control(t *testing.T, start int) *adaptive.Controller {
	t.Helper()
	c, err := adaptive.NewController(adaptive.Config{Min: 5, Max: 200, Start: start, Latency: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestLimitFollowsCompletedCalls checks that the limit moves towards the average number of calls that complete in a time
// span as long as the latency, and that a single window can at most double the limit or lower it by a quarter. The limit
// moves only if it was reached or calls were late.
func TestLimitFollowsCompletedCalls(t *testing.T) {
	for _, c := range []struct {
		name           string
		start, full    int64 // the limit, and the highest number of calls in flight
		calls, took    int64 // in a window of 250 ms
		failed         bool
		want, suggests int64
		why            string
	}{
		{"reached, and quick", 20, 20, 25, 100 * ms, false, 40, 40, "limit 20 ↑ 40: 25 of 25 calls in 250ms were within 500ms"},
		{"reached, at what completes", 50, 50, 25, 400 * ms, false, 50, 50, "start"},
		{"reached, and quick all the same", 80, 80, 25, 100 * ms, false, 80, 80, "start"},
		{"not reached", 20, 5, 25, 100 * ms, false, 20, 0, "start"},
		{"late", 100, 100, 25, 900 * ms, false, 75, 75, "limit 100 ↓ 75: 25 of 25 calls in 250ms took longer than 500ms or failed"},
		{"late, and not reached", 100, 50, 25, 900 * ms, false, 75, 75, "↓ 75"},
		{"all failed", 100, 100, 25, 10 * ms, true, 75, 75, "↓ 75"},
		{"all failed at the minimum", 5, 5, 25, 10 * ms, true, 5, 5, "start"},
		{"quick at the maximum", 200, 200, 1000, 10 * ms, false, 200, 200, "start"},
	} {
		l := control(t, int(c.start))
		const from = 10 * second
		l.Allow(from, c.full-1)
		for i := range c.calls {
			l.Done(from+(i+1)*250*ms/c.calls, c.took, c.failed)
		}
		if l.Limit() != c.want || l.Suggest() != c.suggests || !strings.Contains(l.Why(), c.why) {
			t.Errorf("%s: %d, suggests %d, %q; want %d, %d, %q", c.name, l.Limit(), l.Suggest(), l.Why(), c.want, c.suggests, c.why)
		}
	}
}

// TestSuggestionHasRoomForPeaks checks that the suggested limit admits the highest peak that was over without a denial.
// Other peaks do not count, and without a full window there is no suggestion.
func TestSuggestionHasRoomForPeaks(t *testing.T) {
	l := control(t, 20)
	peak := func(most int64) (denied bool) {
		for n := range most {
			denied = !l.Allow(second, n) || denied
		}
		l.Allow(second, 0)
		return denied
	}
	for _, c := range []struct {
		most     int64
		denied   bool
		suggests int64
	}{{60, false, 60}, {81, true, 60}, {40, false, 60}, {70, false, 70}} {
		if denied := peak(c.most); denied != c.denied {
			t.Errorf("a peak of %d calls: denied %t", c.most, denied)
		}
		if got := l.Suggest(); got != 0 {
			t.Errorf("a window has not ended, but %d is suggested", got)
		}
		full := *l
		for range 20 {
			full.Done(3*second, 400*ms, false)
		}
		if got := full.Suggest(); got != c.suggests {
			t.Errorf("after a peak of %d calls: suggested %d, want %d", c.most, got, c.suggests)
		}
	}
}

// TestSuggestionIgnoresAClimb checks that calls in flight that only become more do not count as a peak that the server
// handled, even if the limit is so high that it denies none of them.
func TestSuggestionIgnoresAClimb(t *testing.T) {
	l := control(t, 200)
	for n := range int64(150) {
		if !l.Allow(second, n) {
			t.Fatalf("denied with %d calls in flight", n)
		}
	}
	for range 20 {
		l.Done(3*second, 900*ms, false)
	}
	if got := l.Suggest(); got != l.Limit() || got != 150 {
		t.Errorf("suggested %d with a limit of %d", got, l.Limit())
	}
	for range 20 {
		l.Done(6*second, 900*ms, false)
	}
	if got := l.Suggest(); got != 132 {
		t.Errorf("suggested %d, want the mean of 150 and 113", got)
	}
}

// TestBurst checks that after a quiet period up to four times the limit may be in flight, for six times the latency.
// After that the limit applies again, until at most half the limit is in flight.
func TestBurst(t *testing.T) {
	l := control(t, 20)
	for _, c := range []struct {
		now, inFlight int64
		want          bool
	}{
		{1 * second, 10, true},
		{1 * second, 79, true},
		{1 * second, 80, false},
		{4 * second, 79, true},
		{4*second + 1, 79, false},
		{4*second + 1, 20, false},
		{4*second + 1, 19, true},
		{9 * second, 11, true},
		{9 * second, 20, false},
		{9 * second, 10, true},
		{9 * second, 79, true},
	} {
		if got := l.Allow(c.now, c.inFlight); got != c.want {
			t.Errorf("%d in flight at %d µs: %t", c.inFlight, c.now, got)
		}
	}
}

// TestMinAndMaxAreThePromise checks that no call is denied with fewer than Min others in flight, and no call is
// admitted with Max others in flight, whatever the outcomes of the calls.
func TestMinAndMaxAreThePromise(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // no secret
		clock := headgatetest.NewClock()
		l, err := adaptive.New(adaptive.Config{Min: 3, Max: 30, Latency: 50 * time.Millisecond, Clock: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		var held []*adaptive.Permit
		for range 20_000 {
			clock.Advance(time.Duration(r.Int64N(int64(20 * time.Millisecond))))
			if n := len(held); n > 0 && r.IntN(3) == 0 {
				i := r.IntN(n)
				held[i].Release(adaptive.Outcome(r.IntN(3))) //nolint:gosec // 0 to 2
				held[i].Release(adaptive.Done)
				held = append(held[:i], held[i+1:]...)
				continue
			}
			p, ok := l.TryAcquire()
			switch {
			case ok && len(held) >= 30:
				t.Fatalf("seed %d: admitted beside %d", seed, len(held))
			case ok:
				held = append(held, p)
			case len(held) < 3:
				t.Fatalf("seed %d: denied beside %d", seed, len(held))
			}
			if s := l.Status(); s.InFlight != len(held) || s.Limit < 3 || s.Limit > 30 {
				t.Fatalf("seed %d: %+v with %d held", seed, s, len(held))
			}
		}
	}
}

func TestFreezeAndDryRun(t *testing.T) {
	clock := headgatetest.NewClock()
	l, err := adaptive.New(adaptive.Config{Min: 1, Max: 1, Latency: time.Second, Clock: clock.Now, DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, ok := l.TryAcquire(); !ok {
			t.Error("a dry run denies")
		}
	}
	if s := l.Status(); s.Denied != 2 || s.InFlight != 3 {
		t.Errorf("%+v", s)
	}
	if err := l.Freeze(4); err != nil {
		t.Fatal(err)
	}
	if s := l.Status(); s.Limit != 4 || !s.Frozen {
		t.Errorf("%+v", s)
	}
	_, _ = l.TryAcquire()
	_, _ = l.TryAcquire()
	if s := l.Status(); s.Denied != 3 {
		t.Errorf("the fifth call beside a frozen limit of 4: %+v", s)
	}
	if err := l.Freeze(-1); !errors.Is(err, engine.ErrInvalid) {
		t.Error(err)
	}
}

func TestNewRejects(t *testing.T) {
	for want, c := range map[string]adaptive.Config{
		"max":     {Min: 1, Max: 0, Latency: time.Second},
		"min":     {Min: 5, Max: 4, Latency: time.Second},
		"start":   {Min: 5, Max: 10, Start: 20, Latency: time.Second},
		"latency": {Min: 5, Max: 10},
	} {
		var input *engine.InputError
		if _, err := adaptive.New(c); !errors.As(err, &input) || input.Field != want {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestAnswered checks that a call's latency ends with the answer, and that the release frees the call's place.
func TestAnswered(t *testing.T) {
	clock := headgatetest.NewClock()
	l, err := adaptive.New(adaptive.Config{Min: 1, Max: 100, Start: 30, Latency: 100 * time.Millisecond, Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	var held []*adaptive.Permit
	for range 30 {
		p, _ := l.TryAcquire()
		held = append(held, p)
	}
	clock.Advance(50 * time.Millisecond)
	for _, p := range held {
		p.Answered()
	}
	clock.Advance(time.Minute) // clients read the responses slowly
	for i, p := range held {
		if n := l.Status().InFlight; n != 30-i {
			t.Errorf("%d in flight, want %d", n, 30-i)
		}
		p.Release(adaptive.Done)
	}
	if s := l.Status(); s.Limit < 30 {
		t.Errorf("%+v: all 30 answers began in half of the latency", s)
	}
}

// TestLimitFallsToItsMinimum checks that a small limit falls by at least one call.
func TestLimitFallsToItsMinimum(t *testing.T) {
	c, err := adaptive.NewController(adaptive.Config{Min: 1, Max: 8, Latency: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	now := int64(1)
	for range 100 {
		c.Allow(now, c.Limit()-1)
		for range 20 {
			now += 20 * ms
			c.Done(now, 10*second, true)
		}
	}
	if c.Limit() != 1 {
		t.Errorf("a limit of %d where every call fails, want 1", c.Limit())
	}
}

// TestMoved checks that each change of the limit is reported with its reason, unless the limit is frozen.
func TestMoved(t *testing.T) {
	now, moved := time.Unix(1, 0), []string(nil)
	l, err := adaptive.New(adaptive.Config{
		Min: 1, Max: 8, Latency: 100 * time.Millisecond, Clock: func() time.Time { return now }, Moved: func(why string) { moved = append(moved, why) },
	})
	if err != nil {
		t.Fatal(err)
	}
	fail := func() {
		for range 20 {
			p, ok := l.TryAcquire()
			if !ok {
				t.Fatal("denied")
			}
			now = now.Add(20 * time.Millisecond)
			p.Release(adaptive.Failed)
		}
	}
	fail()
	if len(moved) != 1 || !strings.HasPrefix(moved[0], "limit 8 ↓ 6: ") || l.Status().Why != moved[0] {
		t.Errorf("%q, want one change from 8 to 6", moved)
	}
	if err := l.Freeze(6); err != nil {
		t.Fatal(err)
	}
	if fail(); len(moved) != 1 {
		t.Errorf("frozen: %q", moved)
	}
}

// TestConfigure checks that calls in flight are still counted under new settings, and that the learned limit is kept as
// far as the new settings allow.
func TestConfigure(t *testing.T) {
	c := adaptive.Config{Min: 1, Max: 10, Start: 4, Latency: time.Second, Clock: headgatetest.NewClock().Now}
	l, err := adaptive.New(c)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, ok := l.TryAcquire(); !ok {
			t.Fatal("a call is denied")
		}
	}
	for _, most := range []int{10, 3, 5} {
		c.Max, c.Start = most, 0
		if err := l.Configure(c); err != nil {
			t.Fatal(err)
		}
		if s := l.Status(); s.InFlight != 3 || s.Limit != min(4, most) && s.Limit != 3 {
			t.Errorf("at most %d: %+v", most, s)
		}
	}
	c.Min = 6
	if err := l.Configure(c); !errors.Is(err, engine.ErrInvalid) {
		t.Error(err)
	}
	if s := l.Status(); s.InFlight != 3 || s.Limit != 3 {
		t.Errorf("wrong settings changed %+v", s)
	}
}

// TestClientsGiveUp checks that calls cancelled after more than the latency lower the limit, and that calls cancelled
// earlier do not.
func TestClientsGiveUp(t *testing.T) {
	falls := func(o adaptive.Outcome, took time.Duration) bool {
		clock := headgatetest.NewClock()
		l, err := adaptive.New(adaptive.Config{Min: 1, Max: 100, Latency: 100 * time.Millisecond, Clock: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			var held []*adaptive.Permit
			for range l.Status().Limit {
				if p, ok := l.TryAcquire(); ok {
					held = append(held, p)
				}
			}
			clock.Advance(took + 50*time.Millisecond)
			for _, p := range held {
				p.Exclude(50 * time.Millisecond)
				p.Release(o)
			}
		}
		return l.Status().Limit < 100
	}
	if falls(adaptive.Abandoned, 90*time.Millisecond) || !falls(adaptive.Abandoned, 110*time.Millisecond) || falls(adaptive.Ignored, 110*time.Millisecond) {
		t.Error("the limit should fall by abandoned calls that took too long, and by no others")
	}
}
