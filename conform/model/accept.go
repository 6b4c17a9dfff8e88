package model

import (
	"errors"
	"fmt"
	"time"
)

// Accepted numbers (rule 1). A hundred years are 100 times 365¼ days; scripts
// stay below 100 times 365.
const (
	MaxUnits    = 1<<32 - 1
	MinPeriodUS = 1_000
	MaxPeriodUS = 36_525 * 24 * 3_600_000_000
	MaxSegments = 1_000
	MaxLogUnits = 100_000
)

// Check returns an error for a limit that must not be built. The model's answers mean
// something only for limits that pass it.
func (l Limit) Check() error {
	switch l.Algorithm {
	case TokenBucket, GCRA, LeakyBucket, Funnel, Pacer:
		return l.checkBucket()
	case WarmUp:
		return l.checkWarmUp()
	case FixedWindow:
		return l.checkFixed()
	case SlidingWindow:
		return errors.Join(l.checkWindows(MaxUnits), l.checkSegments())
	case SlidingLog:
		return l.checkWindows(MaxLogUnits)
	case Concurrency:
		return errors.Join(within("limit", l.Limit, 1, MaxUnits), l.noCountDenied())
	}
	return fmt.Errorf("model: no algorithm %q", l.Algorithm)
}

func (l Limit) checkBucket() error {
	err := errors.Join(
		within("count", l.Count, 1, MaxUnits),
		within("burst", l.Burst, 1, MaxUnits),
		within("period_us", l.PeriodUS, MinPeriodUS, MaxPeriodUS),
		l.noCountDenied(),
	)
	pacer := l.Algorithm == Pacer
	switch {
	case err != nil:
		return err
	case l.Debt < 0 || l.Debt > 0 && pacer:
		return fmt.Errorf("model: debt %d", l.Debt)
	case pacer && l.MaxQueue == nil && l.MaxWaitUS == nil:
		return errors.New("model: a pacer needs max_queue or max_wait_us")
	case l.MaxQueue != nil && *l.MaxQueue < 0 || l.MaxWaitUS != nil && *l.MaxWaitUS < 0:
		return errors.New("model: negative max_queue or max_wait_us")
	}
	b := newBucket(l, 0)
	if refill := ceilDiv(b.cap(), b.l); refill.Cmp(num(MaxPeriodUS)) > 0 {
		return fmt.Errorf("model: a full refill takes %v µs", refill)
	}
	return nil
}

func (l Limit) checkWarmUp() error {
	err := errors.Join(
		within("count", l.Count, 1, MaxUnits),
		within("burst", l.Burst, 1, MaxUnits),
		within("period_us", l.PeriodUS, MinPeriodUS, MaxPeriodUS),
		within("warm_up_us", l.WarmUpUS, MinPeriodUS, MaxPeriodUS),
		l.noCountDenied(),
	)
	if err == nil {
		err = within("ramp", l.ramp(), 1, MaxUnits)
	}
	if err != nil {
		return err
	}
	w := newWarmup(l, 0)
	if refill := ceilDiv(w.cost(l.Burst), w.l); refill.Cmp(num(MaxPeriodUS)) > 0 {
		return fmt.Errorf("model: a full refill takes %v µs", refill)
	}
	return nil
}

func (l Limit) checkFixed() error {
	if l.Calendar == "" {
		return l.checkWindows(MaxUnits)
	}
	_, err := time.LoadLocation(l.Align)
	switch l.Calendar {
	case "1m", "1h", "1d", "1w", "1mo", "1y":
	default:
		err = fmt.Errorf("model: no calendar window %q", l.Calendar)
	}
	return errors.Join(err, within("limit", l.Limit, 1, MaxUnits))
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

func (l Limit) checkSegments() error {
	if l.SegmentUS == 0 && l.Segments > 0 && l.WindowUS%l.Segments != 0 || l.segment() < 1 {
		return fmt.Errorf("model: %d segments do not divide %d µs", l.Segments, l.WindowUS)
	}
	for _, w := range l.windows() {
		if w.WindowUS%l.segment() != 0 {
			return fmt.Errorf("model: a segment of %d µs does not divide %d µs", l.segment(), w.WindowUS)
		}
	}
	return within("segments", l.longest()/l.segment(), 1, MaxSegments)
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
