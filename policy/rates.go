package policy

import (
	"fmt"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// rates returns the single rate of a limit that refills, or the units of a concurrency limit. Other limits have
// windows, which rates reads from the fields limit and window, or from the field windows.
func (f *LimitFields) rates(a algo.Algorithm) ([]engine.Rate, error) {
	if a.Refills() {
		rate, err := f.rate(a)
		return []engine.Rate{rate}, err
	}
	if err := f.rejectFields(a, "rate"); err != nil {
		return nil, err
	}
	if a.Holds() {
		if f.Limit == nil {
			return nil, invalid("limit", "not set", "1 to 100000")
		}
		return []engine.Rate{engine.Per(*f.Limit, engine.DefaultLease)}, f.rejectFields(a, "window", "windows")
	}
	if f.Windows == nil {
		rate, err := window(f.Limit, f.Window)
		return []engine.Rate{rate}, err
	}
	if f.Limit != nil || f.Window != nil {
		return nil, invalid("windows", "set with limit or window", "windows alone, or limit and window")
	}
	if len(f.Windows) == 0 {
		return nil, invalid("windows", "empty", "1 to 8 windows")
	}
	rates := make([]engine.Rate, len(f.Windows))
	for i, w := range f.Windows {
		rate, err := window(w.Limit, w.Window)
		if err == nil {
			err = checkWindow(a, rate)
		}
		if err != nil {
			return nil, atField(err, "windows", strconv.Itoa(i))
		}
		rates[i] = rate
	}
	return rates, nil
}

func (f *LimitFields) rate(a algo.Algorithm) (engine.Rate, error) {
	if err := f.rejectFields(a, "limit", "window", "windows"); err != nil {
		return engine.Rate{}, err
	}
	if f.Rate == nil {
		return engine.Rate{}, invalid("rate", "not set", `a rate such as "100/s"`)
	}
	rate, err := engine.ParseRate(*f.Rate)
	return rate, atField(err, "rate")
}

// checkWindow returns an error for a window that the algorithm does not support. Checking windows one by one makes the
// error name the invalid window instead of the whole list.
func checkWindow(a algo.Algorithm, rate engine.Rate) error {
	if a.Has("segments") { // the default depends on the whole list of windows
		return atOwnField(engine.Build(algo.FixedWindow, []engine.Rate{rate}).Err())
	}
	return atOwnField(engine.Build(a, []engine.Rate{rate}).Err())
}

// window returns the rate for a limit and a window.
func window(limit *int64, span *string) (engine.Rate, error) {
	if limit == nil {
		return engine.Rate{}, invalid("limit", "not set", unitsAccepted)
	}
	if span == nil {
		return engine.Rate{}, invalid("window", "not set", "a duration such as 1m")
	}
	if *span == "" || (*span)[0] < '0' || (*span)[0] > '9' {
		return engine.Rate{}, invalid("window", strconv.Quote(*span), "a duration with its unit, such as 1m, 1d, 1w")
	}
	rate, err := engine.ParseRate(fmt.Sprintf("%d/%s", *limit, *span))
	if err != nil {
		return rate, invalid("window", strconv.Quote(*span), "a duration with its unit, such as 1m, 1d, 1w; 1mo and 1y with a time zone")
	}
	return rate, nil
}
