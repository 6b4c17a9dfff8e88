package headgate

import "time"

// Rate is how much in how long: Count units per Period, or per so many calendar
// months. It is a plain value; the limits built from it check it.
//
// Rate{Count: 5, Period: time.Minute} is five a minute, whatever the limit then
// makes of it: a bucket refills one unit every 12 s, a window starts afresh, a
// log looks back over 60 s.
type Rate struct {
	// Count is the number of units: 1 to 4294967295.
	Count int64
	// Period is the time: 1 ms to 36525 days, in whole microseconds. It is 0
	// where Months is set.
	Period time.Duration
	// Months is 1 for a calendar month and 12 for a calendar year. Only a fixed
	// window with a time zone can have it.
	Months int
}

// Per returns a rate of count units per period.
func Per(count int64, period time.Duration) Rate { return Rate{Count: count, Period: period} }

// PerSecond returns a rate of count units per second.
func PerSecond(count int64) Rate { return Per(count, time.Second) }

// PerMinute returns a rate of count units per minute.
func PerMinute(count int64) Rate { return Per(count, time.Minute) }

// PerHour returns a rate of count units per hour.
func PerHour(count int64) Rate { return Per(count, time.Hour) }

// PerDay returns a rate of count units per day: 24 hours, or a calendar day of
// 23 to 25 hours where the limit has a time zone.
func PerDay(count int64) Rate { return Per(count, day) }

// PerWeek returns a rate of count units per week: 7 days, from Monday where the
// limit has a time zone.
func PerWeek(count int64) Rate { return Per(count, week) }

// PerMonth returns a rate of count units per calendar month, for fixed windows
// with a time zone ([Calendar]).
func PerMonth(count int64) Rate { return Rate{Count: count, Months: 1} }

// PerYear returns a rate of count units per calendar year, for fixed windows
// with a time zone ([Calendar]).
func PerYear(count int64) Rate { return Rate{Count: count, Months: 12} }

const (
	day  = 24 * time.Hour
	week = 7 * day
	// longest is the longest period and the longest full refill: 100 years.
	longest = 36525 * day
)
