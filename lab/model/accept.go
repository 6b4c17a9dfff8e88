package model

import (
	"errors"
	"fmt"
)

// These constants bound the accepted numbers (rule 1). A hundred years are 100 times 365¼ days, but scripts stay below
// 100 times 365 days.
const (
	MaxUnits    = 1<<48 - 1
	MinPeriodUS = 1_000
	MaxPeriodUS = 36_525 * 24 * 3_600_000_000
	MaxSegments = 1_000
	MaxLogUnits = 100_000
	// MaxWindowUnits is the maximum capacity of a sliding window's segments.
	MaxWindowUnits = 1 << 52
)

// Check returns an error for a limit that must be rejected. The model's answers are meaningful only for limits that
// pass Check.
func (l Limit) Check() error {
	if a := algorithms[l.Algorithm]; a != nil {
		return a.check(l)
	}
	return fmt.Errorf("model: no algorithm %q", l.Algorithm)
}

func (l Limit) checkWindows(most int64) error {
	var errs []error
	ws := l.windows()
	for i, w := range ws {
		errs = append(errs, within("limit", w.Limit, 1, most), within("window_us", w.WindowUS, MinPeriodUS, MaxPeriodUS))
		for _, v := range ws[:i] {
			if (v.WindowUS < w.WindowUS) != (v.Limit < w.Limit) || v.WindowUS == w.WindowUS {
				errs = append(errs, errors.New("model: a smaller window needs a smaller limit"))
			}
		}
	}
	return errors.Join(errs...)
}

func (l Limit) noCountDenied() error {
	if l.CountDenied {
		return fmt.Errorf("model: %s cannot count denials", l.Algorithm)
	}
	return nil
}

func within(what string, n, least, most int64) error {
	if n < least || n > most {
		return fmt.Errorf("model: %s %d is not between %d and %d", what, n, least, most)
	}
	return nil
}
