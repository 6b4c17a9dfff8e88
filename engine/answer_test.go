package engine_test

import (
	"math"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// TestLongDurationsAreStatedAsTheLongest (regression: bug 74) checks that a reset time above 292 years is reported as
// 292 years. It used to be negative. Such a reset time needs a clock that is set back by a century.
func TestLongDurationsAreStatedAsTheLongest(t *testing.T) {
	const longest time.Duration = 9_223_372_036_854_775_000
	var o engine.Answer
	o.FillOne(&algo.Outcome{Reset: 11_614_592_376_927_521, Wait: math.MaxInt64 / 2, Delay: 1}, false, 0, 0)
	if o.Binds().ResetAfter != longest || o.Binds().RetryAfter != longest || o.Binds().RetryAfter == engine.Never || o.Delay != time.Microsecond {
		t.Errorf("%+v", *o.Binds())
	}
	if o.FillOne(&algo.Outcome{Wait: algo.Never}, false, 0, 0); o.Binds().RetryAfter != engine.Never {
		t.Errorf("never is %s", o.Binds().RetryAfter)
	}
}
