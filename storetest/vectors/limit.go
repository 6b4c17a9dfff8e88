// Package vectors replays files of exact answers against a store, at the times in the files, to verify that the store
// decides exactly. storetest/vectors/README.md describes the format.
package vectors

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/engine"
)

// Limit is a limit as written in the files. A zero or nil field is not set. The fields count and period_us set a
// limit's rate. A limit with windows sets either limit and window_us, or windows.
type Limit struct {
	Algorithm string   `json:"algorithm"`
	Name      string   `json:"name"`
	Key       string   `json:"key"` // if set, it is appended to the case's key
	Choice    uint8    `json:"choice"`
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
	Anchor    string   `json:"anchor"`
	Segments  int64    `json:"segments"`
	Segment   int64    `json:"segment_us"`
	Variant   string   `json:"variant"`
	Windows   []Window `json:"windows"`

	CountDenied bool  `json:"count_denied"`
	NextPays    bool  `json:"next_pays"`
	WarmUp      int64 `json:"warm_up_us"`
	Weight      int64 `json:"weight"`
	Nested      bool  `json:"nested"`
	Block       int64 `json:"block_us"`
	MaxBlock    int64 `json:"max_block_us"`
	Forget      int64 `json:"forget_us"`
	Min         int64 `json:"min_rate"`
	Max         int64 `json:"max_rate"`
	Interval    int64 `json:"interval_us"`
	Failures    int64 `json:"failures"`
	MaxPause    int64 `json:"max_pause_us"`
}

// Window is one of a limit's windows.
type Window struct {
	Limit int64 `json:"limit"`
	Span  int64 `json:"window_us"`
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// Build returns the limit. For an unknown algorithm, the error names the algorithm. For any other invalid field, it is
// an [*engine.InputError].
func (l *Limit) Build() (engine.Limit, error) {
	a, ok := engine.ParseAlgorithm(l.Algorithm)
	if !ok {
		return engine.Limit{}, fmt.Errorf("algorithm %q is not known", l.Algorithm)
	}
	rates, err := l.rates()
	if err != nil {
		return engine.Limit{}, err
	}
	limit := engine.Build(a, rates, l.settings()...)
	return limit, limit.Err()
}

func (l *Limit) rates() ([]engine.Rate, error) {
	switch {
	case l.Count != 0 || l.Period != 0:
		return []engine.Rate{engine.Per(l.Count, micros(l.Period))}, nil
	case l.Calendar != "":
		rate, err := engine.ParseRate(fmt.Sprintf("%d/%s", l.Limit, l.Calendar))
		return []engine.Rate{rate}, err
	case len(l.Windows) == 0:
		return []engine.Rate{engine.Per(l.Limit, micros(l.Window))}, nil
	}
	var rates []engine.Rate
	for _, w := range l.Windows {
		rates = append(rates, engine.Per(w.Limit, micros(w.Span)))
	}
	return rates, nil
}

func (l *Limit) settings() (all []engine.Setting) {
	set := func(is bool, s engine.Setting) {
		if is {
			all = append(all, s)
		}
	}
	set(l.Name != "", engine.Setting{Field: "name", Word: l.Name})
	set(l.CountDenied, engine.Setting{Field: "count_denied"})
	set(l.NextPays, engine.Setting{Field: "next_pays"})
	set(l.Burst != 0, engine.Setting{Field: "burst", Units: l.Burst})
	set(l.Weight != 0, engine.Setting{Field: "weight", Units: l.Weight})
	set(l.Nested, engine.Setting{Field: "nested"})
	set(l.Block != 0, engine.Setting{Field: "block", Span: micros(l.Block)})
	set(l.MaxBlock != 0, engine.Setting{Field: "max_block", Span: micros(l.MaxBlock)})
	set(l.Forget != 0, engine.Setting{Field: "forget", Span: micros(l.Forget)})
	set(l.Min != 0, engine.Setting{Field: "min", Units: l.Min})
	set(l.Max != 0, engine.Setting{Field: "max", Units: l.Max})
	set(l.Interval != 0, engine.Setting{Field: "interval", Span: micros(l.Interval)})
	set(l.Min != 0, engine.Setting{Field: "failures", Units: l.Failures})
	set(l.Min != 0, engine.Setting{Field: "max_pause", Span: micros(l.MaxPause)})
	set(l.Debt != 0, engine.Setting{Field: "debt", Units: l.Debt})
	set(l.WarmUp != 0, engine.Setting{Field: "warm_up", Span: micros(l.WarmUp)})
	if l.MaxQueue != nil {
		set(true, engine.Setting{Field: "max_queue", Units: *l.MaxQueue})
	}
	if l.MaxWait != nil {
		set(true, engine.Setting{Field: "max_wait", Span: micros(*l.MaxWait)})
	}
	set(l.Align != "", engine.Setting{Field: "align", Word: l.Align})
	set(l.Anchor != "", engine.Setting{Field: "anchor", Word: l.Anchor})
	set(l.Segment != 0, engine.Setting{Field: "segment", Span: micros(l.Segment)})
	set(l.Segment == 0 && l.Segments != 0, engine.Setting{Field: "segments", Units: l.Segments})
	set(l.Variant != "", engine.Setting{Field: "variant", Word: l.Variant})
	return all
}
