package simulate

import (
	"context"
	"time"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/replay/accesslog"
)

// Config says how a log is replayed.
type Config struct {
	// Policies decide, and File is the name of their file.
	Policies *policy.Config
	File     string
	// MaxKeys bounds the states of the store, and the keys that are told apart; 0 is
	// DefaultMaxKeys.
	MaxKeys int
	// Top is how many of the keys with the most refusals are listed.
	Top int
	// Zone is the time zone of the hours and weekdays; nil is UTC.
	Zone *time.Location
}

// open sets the defaults, and returns what decides.
func (c *Config) open() (*Simulation, error) {
	if c.MaxKeys == 0 {
		c.MaxKeys = DefaultMaxKeys
	}
	return New(c.Policies, c.MaxKeys)
}

// Result is what a file would have done to the requests of a log.
type Result struct {
	File     string `json:"file"`
	Requests int64  `json:"requests"`
	Admitted int64  `json:"admitted"`
	Refused  int64  `json:"refused"`
	// Unmatched is how many of the admitted ones had no route, and no limit.
	Unmatched int64 `json:"unmatched"`
	// Failed is how many had no decision, FirstError why the first had none.
	Failed     int64  `json:"failed,omitempty"`
	FirstError string `json:"first_error,omitempty"`
	// AlreadyRefused is how many requests the log itself has with status 429.
	AlreadyRefused int64 `json:"already_429,omitempty"`

	Keys int64 `json:"keys"`
	// OtherKeys is how many requests have keys beyond MaxKeys: they are decided, and not
	// counted by key.
	OtherKeys   int64          `json:"requests_of_other_keys,omitempty"`
	RefusedKeys int64          `json:"refused_keys"`
	Routes      []RouteReport  `json:"routes"`
	Policies    []PolicyReport `json:"policies"`
	Top         []KeyReport    `json:"most_refused"`
	// Longest is the longest time in which all requests of one key were refused.
	Longest *Stretch `json:"longest_stretch,omitempty"`
	Cost    Cost     `json:"cost"`
	Traffic Traffic  `json:"traffic"`
	Heat    Heat     `json:"heat"`
	// Histogram has how many keys sent how many requests.
	Histogram []Bar `json:"histogram"`
	// Compared is how many requests the alternatives were worked out from: all, unless
	// there were more than are kept.
	Compared int64 `json:"compared"`
}

// Run decides all requests of a log.
func Run(ctx context.Context, log *accesslog.Log, c Config) (*Result, error) {
	if err := log.Want(Needs(c.Policies, c.File)); err != nil {
		return nil, err
	}
	s, err := c.open()
	if err != nil {
		return nil, err
	}
	if c.Zone == nil {
		c.Zone = time.UTC
	}
	t := newTally(c.Policies, NewHeat(c.Zone), c.MaxKeys)
	err = s.decideAll(ctx, log, t.add)
	if err == nil {
		err = s.Close() // its memory is needed no more
	}
	if err != nil {
		return nil, err
	}
	return t.result(&c, &s.shadows), nil
}

// result makes the result of the counts.
func (t *tally) result(c *Config, shadows *shadows) *Result {
	r := &Result{
		File: c.File, Requests: t.requests, Refused: t.refused, Admitted: t.requests - t.refused - t.failed, Unmatched: t.unmatched,
		Failed: t.failed, FirstError: t.firstError, AlreadyRefused: t.already,
		Keys: int64(len(t.keys.all)), OtherKeys: t.keys.rest, Routes: t.routes, Cost: t.cost(c.Policies), Traffic: t.traffic.Shown(), Heat: t.heat,
		Compared: int64(t.recorded.Len()), Histogram: t.keys.histogram(),
	}
	r.Top, r.RefusedKeys = t.keys.refusedMost(c.Top)
	if t.keys.longest.Refused > 0 {
		longest := t.keys.longest
		r.Longest = &longest
	}
	alternatives(c.Policies, t)
	for i := range t.policies {
		p := &t.policies[i]
		p.ShadowAsked, p.ShadowDenied = shadows.asked[p.Name], shadows.denied[p.Name]
	}
	r.Policies = busiest(t.policies)
	return r
}
