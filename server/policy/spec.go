package policy

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/algo"
)

// LimitFields are the fields of one limit as written, in YAML or JSON. A nil
// field was not written.
type LimitFields struct {
	Name        *string            `json:"name"         yaml:"name"`
	Algorithm   *string            `json:"algorithm"    yaml:"algorithm"`
	Rate        *string            `json:"rate"         yaml:"rate"`
	Burst       *int64             `json:"burst"        yaml:"burst"`
	Debt        *int64             `json:"debt"         yaml:"debt"`
	MaxWait     *string            `json:"max_wait"     yaml:"max_wait"`
	MaxQueue    *int64             `json:"max_queue"    yaml:"max_queue"`
	Limit       *int64             `json:"limit"        yaml:"limit"`
	Window      *string            `json:"window"       yaml:"window"`
	Align       *string            `json:"align"        yaml:"align"`
	Segments    *int64             `json:"segments"     yaml:"segments"`
	Segment     *string            `json:"segment"      yaml:"segment"`
	Variant     *string            `json:"variant"      yaml:"variant"`
	Windows     list[WindowFields] `json:"windows"      yaml:"windows"`
	Lease       *string            `json:"lease"        yaml:"lease"`
	CountDenied *bool              `json:"count_denied" yaml:"count_denied"`
	Deny        *bool              `json:"deny"         yaml:"deny"`
	Unlimited   *bool              `json:"unlimited"    yaml:"unlimited"`
	All         list[LimitSpec]    `json:"all"          yaml:"all"`
}

// WindowFields is one of several windows.
type WindowFields struct {
	Limit  *int64  `json:"limit"  yaml:"limit"`
	Window *string `json:"window" yaml:"window"`
}

// LimitSpec is a limit written as fields or as text: "100/s burst 200", or the
// name of a policy inside all.
type LimitSpec struct {
	Text string
	LimitFields
}

// UnmarshalYAML reads a text or fields.
func (s *LimitSpec) UnmarshalYAML(unmarshal func(any) error) error {
	if err := unmarshal(&s.Text); err == nil {
		return nil
	}
	return unmarshal(&s.LimitFields)
}

// UnmarshalJSON reads a text or fields, and refuses fields it does not know.
func (s *LimitSpec) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &s.Text)
	}
	if deep(data) {
		return refuse("limit", "nested too deeply", "all only at the top, and windows inside it")
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	return decoder.Decode(&s.LimitFields)
}

// Build makes the limit. A spec with all is a policy's: see [Set].
func (s *LimitSpec) Build() (headgate.Limit, error) {
	if s.Text == "" {
		return s.build()
	}
	limit, err := headgate.ParseLimit(s.Text)
	if err == nil && limit.Algorithm() == algo.Concurrency {
		return headgate.Limit{}, &headgate.InputError{Field: "algorithm", Value: `"concurrency"`, Accepted: noAcquire}
	}
	return limit, err
}

func (f *LimitFields) build() (headgate.Limit, error) {
	if f.All != nil {
		return headgate.Limit{}, refuse("all", "set", "all only at the top of a policy or request")
	}
	if limit, ok, err := f.constant(); ok || err != nil {
		return limit, err
	}
	if f.Algorithm == nil {
		return headgate.Limit{}, refuse("algorithm", "not set", algorithms)
	}
	a, ok := headgate.ParseAlgorithm(*f.Algorithm)
	if !ok || a == algo.DenyAll || a == algo.Unlimited {
		return headgate.Limit{}, refuse("algorithm", quote(*f.Algorithm), algorithms)
	}
	if a == algo.Concurrency {
		return headgate.Limit{}, refuse("algorithm", `"concurrency"`, noAcquire)
	}
	options, err := f.options()
	if err != nil {
		return headgate.Limit{}, err
	}
	limit, err := f.construct(a, options)
	return limit, atOwn(err)
}

const (
	algorithms = "token-bucket (gcra, leaky-bucket, funnel), pacer, fixed-window, sliding-window, sliding-log; " +
		"or deny: true, unlimited: true, all: [...]"
	// noAcquire refuses concurrency limits, which take and peek cannot use.
	noAcquire = algorithms + "; concurrency is not supported yet: acquire does not exist on the wires"
)

// constant returns the limits that have no algorithm.
func (f *LimitFields) constant() (limit headgate.Limit, ok bool, err error) {
	deny, unlimited := f.Deny != nil && *f.Deny, f.Unlimited != nil && *f.Unlimited
	switch {
	case !deny && !unlimited:
		return headgate.Limit{}, false, nil
	case deny && unlimited:
		return headgate.Limit{}, false, refuse("deny", "true beside unlimited: true", "one of them")
	}
	field := "deny"
	if unlimited {
		field = "unlimited"
	}
	rest := *f
	rest.Deny, rest.Unlimited, rest.Name = nil, nil, nil
	if written := rest.written(); written != "" {
		return headgate.Limit{}, false, refuse(written, "set", "no other fields beside "+field+": true")
	}
	if unlimited {
		return headgate.NoLimit(), true, nil
	}
	return headgate.DenyAll(), true, nil
}

// construct calls the algorithm's constructor with its rate or windows.
func (f *LimitFields) construct(a algo.Algorithm, options []headgate.Option) (headgate.Limit, error) {
	switch a {
	case algo.TokenBucket, algo.Pacer:
		rate, err := f.rate(a)
		if err != nil {
			return headgate.Limit{}, err
		}
		if a == algo.Pacer {
			return headgate.Pacer(rate, options...)
		}
		return headgate.TokenBucket(rate, options...)
	}
	rates, err := f.rates(a)
	if err != nil {
		return headgate.Limit{}, err
	}
	if len(rates) > 1 {
		options = append(options, headgate.And(rates[1:]...))
	}
	switch a {
	case algo.FixedWindow:
		return headgate.FixedWindow(rates[0], options...)
	case algo.SlidingWindow:
		return headgate.SlidingWindow(rates[0], options...)
	default:
		return headgate.SlidingLog(rates[0], options...)
	}
}

func (f *LimitFields) rate(a algo.Algorithm) (headgate.Rate, error) {
	if err := f.without(a, "limit", "window", "windows"); err != nil {
		return headgate.Rate{}, err
	}
	if f.Rate == nil {
		return headgate.Rate{}, refuse("rate", "not set", `a rate such as "100/s"`)
	}
	rate, err := headgate.ParseRate(*f.Rate)
	return rate, at(err, "rate")
}

// rates returns the windows: limit and window, or windows.
func (f *LimitFields) rates(a algo.Algorithm) ([]headgate.Rate, error) {
	if err := f.without(a, "rate"); err != nil {
		return nil, err
	}
	if f.Windows == nil {
		rate, err := window(f.Limit, f.Window)
		return []headgate.Rate{rate}, err
	}
	if err := f.without(a, "limit", "window"); err != nil {
		return nil, at(err.(*fieldError).err, "windows")
	}
	if len(f.Windows) == 0 {
		return nil, refuse("windows", "empty", "1 to 8 windows")
	}
	rates := make([]headgate.Rate, len(f.Windows))
	for i, w := range f.Windows {
		rate, err := window(w.Limit, w.Window)
		if err == nil {
			err = checkWindow(a, rate)
		}
		if err != nil {
			return nil, at(err, "windows", strconv.Itoa(i))
		}
		rates[i] = rate
	}
	return rates, nil
}

// checkWindow refuses what no window of the algorithm may be, so that the error
// names this window and not the list.
func checkWindow(a algo.Algorithm, rate headgate.Rate) error {
	alone := headgate.FixedWindow
	if a == algo.SlidingLog {
		alone = headgate.SlidingLog
	}
	_, err := alone(rate)
	return atOwn(err)
}

func window(limit *int64, span *string) (headgate.Rate, error) {
	if limit == nil {
		return headgate.Rate{}, refuse("limit", "not set", "1 to 4294967295")
	}
	if span == nil {
		return headgate.Rate{}, refuse("window", "not set", "a duration such as 1m")
	}
	if *span == "" || (*span)[0] < '0' || (*span)[0] > '9' {
		return headgate.Rate{}, refuse("window", strconv.Quote(*span), "a duration such as 1m, 1d, 1w")
	}
	rate, err := headgate.ParseRate(fmt.Sprintf("%d/%s", *limit, *span))
	if err != nil {
		return rate, refuse("window", strconv.Quote(*span), "a duration such as 1m, 1d, 1w; 1mo and 1y with a time zone")
	}
	return rate, nil
}

// Limits makes the limits of a request: one, or those of all, which are called
// 1, 2, … by their place unless named.
func (s *LimitSpec) Limits() ([]headgate.Limit, error) {
	if s.Text != "" || s.All == nil {
		limit, err := s.Build()
		return []headgate.Limit{limit}, err
	}
	rest := s.LimitFields
	rest.All = nil
	if written := rest.written(); written != "" {
		return nil, refuse(written, "set", "no other limit beside all")
	}
	if len(s.All) < 1 || len(s.All) > headgate.MaxCharges {
		return nil, refuse("all", strconv.Itoa(len(s.All))+" limits", "1 to 32")
	}
	limits := make([]headgate.Limit, len(s.All))
	for i := range s.All {
		limit, err := s.All[i].placed(i + 1)
		if err != nil {
			return nil, at(err, "all", strconv.Itoa(i))
		}
		limits[i] = limit
	}
	return limits, distinct(limits)
}

// distinct refuses limits that would share one counter.
func distinct(limits []headgate.Limit) error {
	type counter struct{ algorithm, name string }
	seen := map[counter]bool{}
	for _, limit := range limits {
		c := counter{limit.Algorithm().String(), limit.Name()}
		if seen[c] && limit.Rates() != nil {
			return refuse("all", c.algorithm+" "+c.name+" twice", "limits of one algorithm with different names")
		}
		seen[c] = true
	}
	return nil
}

// placed makes one limit of all. It is called by its place unless named.
func (s *LimitSpec) placed(place int) (headgate.Limit, error) {
	name := strconv.Itoa(place)
	if s.Text == "" && s.Name == nil {
		s.Name = &name
	}
	limit, err := s.Build()
	if err == nil && s.Text != "" && limit.Name() == headgate.DefaultName {
		return headgate.ParseLimit(s.Text + ` name "` + name + `"`)
	}
	return limit, err
}
