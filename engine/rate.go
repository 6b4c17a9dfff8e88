package engine

import "time"

// Rate is a number of units per period: Count units per Period, or per calendar Months. It is a plain value, checked
// when a limit is built from it.
//
// Rate{Count: 5, Period: time.Minute} is five a minute. Its effect depends on the algorithm: a bucket refills one
// unit every 12 s, a fixed window starts again at 0, a log counts the last 60 s.
type Rate struct {
	// Count is the number of units: 1 to 281474976710655.
	Count int64
	// Period is the time span: 1 ms to 36525 days, in whole microseconds. It is 0 if Months is set.
	Period time.Duration
	// Months is 1 for a calendar month and 12 for a calendar year. Only a fixed window with a time zone can use it.
	Months int
}

// Per returns a rate of count units per period.
func Per(count int64, period time.Duration) Rate { return Rate{Count: count, Period: period} }

const (
	day  = 24 * time.Hour
	week = 7 * day
	// longest is the longest period and the longest full refill: 100 years.
	longest = 36525 * day
)
