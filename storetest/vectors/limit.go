// Package vectors replays files of exact answers against a store, at the times in the files, to verify that the store
// decides exactly. storetest/vectors/README.md describes the format.
package vectors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/headgate/headgate/engine"
)

// Limit is a limit as written in the files. The fields count and period_us set a limit's rate. A limit with windows sets
// either limit and window_us, or windows. All other fields are those of the table [engine.Fields], with the same names,
// except that the name of a duration ends in _us.
type Limit struct {
	limitFields
	settings []engine.Setting
}

type limitFields struct {
	Algorithm string   `json:"algorithm"`
	Key       string   `json:"key"` // if set, it is appended to the case's key
	Choice    uint8    `json:"choice"`
	Count     int64    `json:"count"`
	Period    int64    `json:"period_us"`
	Limit     int64    `json:"limit"`
	Window    int64    `json:"window_us"`
	Calendar  string   `json:"calendar"`
	Windows   []Window `json:"windows"`
}

// Window is one of a limit's windows.
type Window struct {
	Limit int64 `json:"limit"`
	Span  int64 `json:"window_us"`
}

// UnmarshalJSON reads a limit. An unknown field is an error.
func (l *Limit) UnmarshalJSON(data []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	for f := range engine.Fields() {
		name := f.Name
		if f.Kind == engine.FieldSpan {
			name += "_us"
		}
		value, ok := values[name]
		if !ok || f.Kind == engine.FieldRates {
			continue
		}
		delete(values, name)
		set, err := settingOf(f, value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		l.settings = append(l.settings, set...)
	}
	rest, err := json.Marshal(values)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(rest))
	decoder.DisallowUnknownFields()
	return decoder.Decode(&l.limitFields)
}

// settingOf returns the setting for the value of a field. A flag that is false is none.
func settingOf(f engine.Field, value []byte) ([]engine.Setting, error) {
	set := engine.Setting{Field: f.Name}
	switch f.Kind {
	case engine.FieldUnits:
		err := json.Unmarshal(value, &set.Units)
		return []engine.Setting{set}, err
	case engine.FieldSpan:
		var us int64
		err := json.Unmarshal(value, &us)
		set.Span = micros(us)
		return []engine.Setting{set}, err
	case engine.FieldFlag:
		var is bool
		if err := json.Unmarshal(value, &is); err != nil || !is {
			return nil, err
		}
		return []engine.Setting{set}, nil
	default:
		err := json.Unmarshal(value, &set.Word)
		return []engine.Setting{set}, err
	}
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
	limit := engine.Build(a, rates, l.settings...)
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
