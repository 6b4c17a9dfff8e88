// Package vectors replays files of exact answers against a store, in the
// files' own time: a proof that an engine decides right. The format is described
// in testdata/vectors/README.md.
package vectors

import (
	"fmt"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/algo"
)

// Limit is a limit as the files write it. A nil field is not set.
type Limit struct {
	Algorithm string   `json:"algorithm"`
	Name      string   `json:"name"`
	Count     int64    `json:"count"`
	Period    int64    `json:"period_us"`
	Burst     int64    `json:"burst"`
	Debt      int64    `json:"debt"`
	MaxQueue  *int64   `json:"max_queue"`
	MaxWait   *int64   `json:"max_wait_us"`
	Limit     int64    `json:"limit"`
	Window    int64    `json:"window_us"`
	Align     string   `json:"align"`
	Calendar  string   `json:"calendar"`
	Segments  int64    `json:"segments"`
	Segment   int64    `json:"segment_us"`
	Variant   string   `json:"variant"`
	Windows   []Window `json:"windows"`

	CountDenied bool `json:"count_denied"`
}

// Window is one of a limit's windows.
type Window struct {
	Limit int64 `json:"limit"`
	Span  int64 `json:"window_us"`
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// Build makes the limit with the library's constructors.
func (l *Limit) Build() (headgate.Limit, error) {
	a, ok := headgate.ParseAlgorithm(l.Algorithm)
	if !ok {
		return headgate.Limit{}, fmt.Errorf("algorithm %q is not known", l.Algorithm)
	}
	var options []headgate.Option
	if l.Name != "" {
		options = append(options, headgate.Named(l.Name))
	}
	if l.CountDenied {
		options = append(options, headgate.CountDenied())
	}
	switch a {
	case algo.TokenBucket, algo.Pacer:
		return l.bucket(a, options)
	case algo.FixedWindow:
		return l.fixed(options)
	case algo.SlidingWindow:
		return l.sliding(options)
	case algo.SlidingLog:
		first, options := l.windows(options)
		return headgate.SlidingLog(first, options...)
	default:
		return headgate.Limit{}, fmt.Errorf("algorithm %q has no vectors", l.Algorithm)
	}
}

func (l *Limit) bucket(a algo.Algorithm, options []headgate.Option) (headgate.Limit, error) {
	rate := headgate.Per(l.Count, micros(l.Period))
	options = append(options, headgate.Burst(l.Burst))
	if a == algo.TokenBucket {
		if l.Debt != 0 {
			options = append(options, headgate.AllowDebt(l.Debt))
		}
		return headgate.TokenBucket(rate, options...)
	}
	if l.MaxQueue != nil {
		options = append(options, headgate.MaxQueue(*l.MaxQueue))
	}
	if l.MaxWait != nil {
		options = append(options, headgate.MaxWait(micros(*l.MaxWait)))
	}
	return headgate.Pacer(rate, options...)
}

func (l *Limit) fixed(options []headgate.Option) (headgate.Limit, error) {
	rate := headgate.Per(l.Limit, micros(l.Window))
	if l.Calendar != "" {
		var err error
		if rate, err = headgate.ParseRate(fmt.Sprintf("%d/%s", l.Limit, l.Calendar)); err != nil {
			return headgate.Limit{}, err
		}
	}
	if l.Align != "" {
		options = append(options, headgate.Calendar(l.Align))
	}
	return headgate.FixedWindow(rate, options...)
}

func (l *Limit) sliding(options []headgate.Option) (headgate.Limit, error) {
	first, options := l.windows(options)
	switch {
	case l.Segment != 0:
		options = append(options, headgate.SegmentLength(micros(l.Segment)))
	case l.Segments != 0:
		options = append(options, headgate.Segments(int(l.Segments)))
	}
	switch l.Variant {
	case "", "weighted":
	case "strict":
		options = append(options, headgate.Strict())
	case "lenient":
		options = append(options, headgate.Lenient())
	default:
		return headgate.Limit{}, fmt.Errorf("variant %q is not known", l.Variant)
	}
	return headgate.SlidingWindow(first, options...)
}

// windows returns the first window, and the options with the others.
func (l *Limit) windows(options []headgate.Option) (headgate.Rate, []headgate.Option) {
	if len(l.Windows) == 0 {
		return headgate.Per(l.Limit, micros(l.Window)), options
	}
	for _, w := range l.Windows[1:] {
		options = append(options, headgate.And(headgate.Per(w.Limit, micros(w.Span))))
	}
	return headgate.Per(l.Windows[0].Limit, micros(l.Windows[0].Span)), options
}
