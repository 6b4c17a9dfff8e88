package headgate

import (
	"time"

	"github.com/headgate/headgate/engine"
)

// Rate is a number of units per period: Count units per Period, or per calendar Months.
// Rate{Count: 5, Period: time.Minute} is five a minute. A week is Per(n, 7*24*time.Hour).
// A calendar month is Rate{Count: n, Months: 1} and a year Rate{Count: n, Months: 12}, for
// a fixed window with a time zone ([Align]).
type Rate = engine.Rate

// Per returns a rate of count units per period: 1 to 281474976710655 units, and 1 ms to 36525
// days in whole microseconds. Per does not check these ranges; the limit built with the
// rate does.
func Per(count int64, period time.Duration) Rate { return engine.Per(count, period) }

// PerSecond returns a rate of count units per second.
func PerSecond(count int64) Rate { return Per(count, time.Second) }

// PerMinute returns a rate of count units per minute.
func PerMinute(count int64) Rate { return Per(count, time.Minute) }

// PerHour returns a rate of count units per hour.
func PerHour(count int64) Rate { return Per(count, time.Hour) }

// PerDay returns a rate of count units per day: 24 hours, or a calendar day of
// 23 to 25 hours where the limit has a time zone.
func PerDay(count int64) Rate { return Per(count, 24*time.Hour) }
