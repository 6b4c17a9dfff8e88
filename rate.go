package headgate

import (
	"time"

	"github.com/headgate/headgate/engine"
)

// Rate is a number of units per period: Count units per Period, or per calendar Months. Rate{Count: 5, Period:
// time.Minute} is five units per minute, and Per(5, time.Minute) is its short form. For n units per week, use
// Per(n, 7*24*time.Hour). For a [FixedWindow] with a time zone, Rate{Count: n, Months: 1} is n units per calendar
// month, and Rate{Count: n, Months: 12} is n units per calendar year.
//
// The policy checks the ranges.
type Rate struct {
	// Count is the number of units: 1 to 281474976710655.
	Count int64
	// Period is the time span: 1 ms to 36525 days, in whole microseconds. It is 0 if Months is set.
	Period time.Duration
	// Months is 1 for a calendar month and 12 for a calendar year.
	Months int
}

// String returns the rate as text: "5/1m".
func (r Rate) String() string { return engine.Rate(r).String() }

// Per returns a rate of count units per period.
func Per(count int64, period time.Duration) Rate { return Rate{Count: count, Period: period} }

// PerSecond returns a rate of count units per second.
func PerSecond(count int64) Rate { return Per(count, time.Second) }

// PerMinute returns a rate of count units per minute.
func PerMinute(count int64) Rate { return Per(count, time.Minute) }

// PerHour returns a rate of count units per hour.
func PerHour(count int64) Rate { return Per(count, time.Hour) }

// PerDay returns a rate of count units per day: 24 hours, or a calendar day of 23 to 25 hours if the limit has a time
// zone.
func PerDay(count int64) Rate { return Per(count, 24*time.Hour) }
