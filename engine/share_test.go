package engine_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
)

// The shares of n processes never add up to more than the limit.
func TestShare(t *testing.T) {
	for _, c := range []struct {
		limit string
		n     int64
		want  string
	}{
		{"100/s burst 200", 1, "100/s burst 200"},
		{"100/s burst 200", 4, "100/4s burst 50"},
		{"100/s", 3, "100/3s burst 33"},
		{"7/s burst 3", 4, "deny"},
		{"60/1m burst 10 debt 5", 2, "60/2m burst 5 debt 2"},
		{"10/s burst 4 next_pays", 2, "10/2s burst 2 next_pays"},
		{"1/36525d", 2, "deny"},
		{"pacer 10/s max_wait 2s", 5, "pacer 10/5s max_wait 2s"},
		{"pacer 10/s burst 6 max_queue 7", 3, "pacer 10/3s burst 2 max_queue 2"},
		{"warm-up 10/s warm_up 10s burst 4", 2, "warm-up 10/2s warm_up 10s burst 2"},
		{"warm-up 10/s warm_up 200ms burst 4", 2, "10/2s burst 2"},
		{"fixed-window 100/1m count_denied", 3, "fixed-window 33/1m count_denied"},
		{"1000/1d align Asia/Shanghai", 7, "fixed-window 142/1d align Asia/Shanghai"},
		{"fixed-window 2/1m", 3, "deny"},
		{"sliding-window 100/1m segments 10 strict", 8, "sliding-window 12/1m segments 10 strict"},
		{"sliding-log 5/1m 50/1h name x", 2, `sliding-log 2/1m 25/1h name "x"`},
		{"sliding-log 5/1s 6/1m 50/1h", 2, "sliding-log 2/s 3/1m 25/1h"},
		{"sliding-log 5/1s 7/1m 50/1h", 4, "sliding-log 1/1m 12/1h"},
		{"sliding-log 1/1s 50/1h", 2, "deny"},
		{"concurrency 10 lease 30s", 4, "concurrency 2 lease 30s"},
		{"deny", 4, "deny"},
		{"unlimited", 4, "unlimited"},
	} {
		l, err := engine.ParseLimit(c.limit)
		if err != nil {
			t.Fatal(err)
		}
		got := engine.Share(l, c.n)
		if got.Err() != nil || got.String() != c.want {
			t.Errorf("1/%d of %s is %s, %v; want %s", c.n, c.limit, got, got.Err(), c.want)
		}
		if back, err := engine.ParseLimit(got.String()); err != nil || back != got {
			t.Errorf("%s reads back as %s, %v", got, back, err)
		}
	}
	invalid := engine.Build(0, nil)
	if engine.Share(invalid, 3).Err() == nil {
		t.Error("the share of a limit that was not built has no error")
	}
}

func TestRecovery(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"100/s burst 500": 5 * time.Second, "100/1m burst 1": time.Minute, "pacer 10/s max_wait 1h": time.Second,
		"sliding-log 5/1m 50/1h": time.Hour, "concurrency 5 lease 30s": 30 * time.Second, "fixed-window 5/1d": 24 * time.Hour,
		"fixed-window 5/1mo align UTC": 31 * 24 * time.Hour, "fixed-window 5/1y align UTC": 366 * 24 * time.Hour,
		"1000/1d align UTC": 24 * time.Hour,
	} {
		l, err := engine.ParseLimit(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Duration(engine.Recovery(l)) * time.Microsecond; got != want {
			t.Errorf("%s recovers in %s, want %s", text, got, want)
		}
	}
}
