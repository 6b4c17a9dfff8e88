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
		units, ok := f.number("limit")
		if !ok {
			return nil, invalid("limit", "not set", "1 to 100000")
		}
		return []engine.Rate{engine.Per(units, engine.DefaultLease)}, f.rejectFields(a, "window", "windows")
	}
	windows, several := f.Values.get("windows").(list[WindowFields])
	if !several {
		rate, err := f.window().rate()
		return []engine.Rate{rate}, err
	}
	if f.has("limit") || f.has("window") {
		return nil, invalid("windows", "set with limit or window", "windows alone, or limit and window")
	}
	if len(windows) == 0 {
		return nil, invalid("windows", "empty", "1 to 8 windows")
	}
	rates := make([]engine.Rate, len(windows))
	for i, w := range windows {
		rate, err := w.rate()
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
	text, ok := f.word("rate")
	if !ok {
		return engine.Rate{}, invalid("rate", "not set", `a rate such as "100/s"`)
	}
	rate, err := engine.ParseRate(text)
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

func (f *LimitFields) window() (w WindowFields) {
	if limit, ok := f.number("limit"); ok {
		w.Limit = &limit
	}
	if span, ok := f.word("window"); ok {
		w.Window = &span
	}
	return w
}

func (w WindowFields) rate() (engine.Rate, error) {
	if w.Limit == nil {
		return engine.Rate{}, invalid("limit", "not set", unitsAccepted)
	}
	if w.Window == nil {
		return engine.Rate{}, invalid("window", "not set", "a duration such as 1m")
	}
	span := *w.Window
	if span == "" || span[0] < '0' || span[0] > '9' {
		return engine.Rate{}, invalidMeant("window", span, engine.MeantSpan(span), "a duration with its unit, such as 1m, 1d, 1w")
	}
	rate, err := engine.ParseRate(fmt.Sprintf("%d/%s", *w.Limit, span))
	if err != nil {
		return rate, invalidMeant("window", span, engine.MeantSpan(span), "a duration with its unit, such as 1m, 1d, 1w; 1mo and 1y with a time zone")
	}
	return rate, nil
}
