package engine_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
)

func TestPool(t *testing.T) {
	limit, err := engine.ParseLimit("fair-share 1000/s burst 200")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		remaining int64
		reset     time.Duration
		want      engine.Pool
	}{
		{100, 0, engine.Pool{Burst: 200}},
		{0, 100 * time.Millisecond, engine.Pool{Burst: 200, Outstanding: 100, Own: 100, Heavy: 1}},
		{0, 150 * time.Millisecond, engine.Pool{Burst: 200, Outstanding: 150, Own: 50, Heavy: 3}},
		{24, 150 * time.Millisecond, engine.Pool{Burst: 200, Outstanding: 150, Own: 2, Heavy: 3}},
		{0, 200 * time.Millisecond, engine.Pool{Burst: 200, Outstanding: 200, Heavy: 199}},
		{0, time.Hour, engine.Pool{Burst: 200, Outstanding: 200, Heavy: 199}},
	} {
		if got, ok := limit.Pool(c.remaining, c.reset); got != c.want || !ok {
			t.Errorf("%d remaining, full in %s: %+v, want %+v", c.remaining, c.reset, got, c.want)
		}
	}
	bucket, _ := engine.ParseLimit("100/s")
	if _, ok := bucket.Pool(0, 0); ok {
		t.Error("a token bucket has a pool of all keys")
	}
}
