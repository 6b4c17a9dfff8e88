package simulate

import (
	"context"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
)

// Config configures a replay.
type Config struct {
	// Policies are the policies to replay. File is the name of their file.
	Policies *policy.Config
	File     string
	// MaxKeys is the maximum number of states in the store and of keys that are counted separately.
	MaxKeys int
	// Top is the number of keys to list: those with the most denials.
	Top int
}

// Result describes the effect that a policies file would have had on the requests in a log.
type Result struct {
	File     string `json:"file"`
	Requests int64  `json:"requests"`
	Admitted int64  `json:"admitted"`
	Denied   int64  `json:"denied"`
	// Unmatched is the number of admitted requests that matched no route and therefore had no limit.
	Unmatched int64 `json:"unmatched"`
	// Failed is the number of requests without a decision. FirstError is the error for the first of them.
	Failed     int64  `json:"failed,omitempty"`
	FirstError string `json:"first_error,omitempty"`
	// AlreadyDenied is the number of requests with status 429 in the log.
	AlreadyDenied int64 `json:"already_429,omitempty"`

	Keys int64 `json:"keys"`
	// OtherKeys is the number of requests with keys beyond MaxKeys. They are decided, but not counted by key.
	OtherKeys  int64          `json:"requests_of_other_keys,omitempty"`
	DeniedKeys int64          `json:"denied_keys"`
	Routes     []RouteReport  `json:"routes"`
	Policies   []PolicyReport `json:"policies"`
	Top        []KeyReport    `json:"most_denied"`
}

// Run decides all requests in a log, and returns the counts by route, policy and key.
func Run(ctx context.Context, log *accesslog.Log, c Config) (*Result, error) {
	if err := log.Want(Needs(c.Policies, c.File)); err != nil {
		return nil, err
	}
	s, err := New(c.Policies, c.MaxKeys)
	if err != nil {
		return nil, err
	}
	t := newTally(c.Policies, c.MaxKeys)
	err = log.Run(ctx, func(batch []accesslog.Request) error {
		for i := range batch {
			answer := s.Decide(ctx, &batch[i])
			t.add(&batch[i], &answer)
		}
		return ctx.Err()
	})
	if err == nil {
		err = s.Close() // the memory is no longer needed
	}
	if err != nil {
		return nil, err
	}
	return t.result(&c, s), nil
}

// result builds the result from the counts.
func (t *tally) result(c *Config, s *Simulation) *Result {
	r := &Result{
		File: c.File, Requests: t.requests, Denied: t.denied, Admitted: t.requests - t.denied - t.failed, Unmatched: t.unmatched,
		Failed: t.failed, FirstError: t.firstError, AlreadyDenied: t.already,
		Keys: int64(len(t.keys.all)), OtherKeys: t.keys.rest, Routes: t.routes,
	}
	r.Top, r.DeniedKeys = t.keys.deniedMost(c.Top)
	for i := range t.policies {
		p := &t.policies[i]
		p.ShadowAsked, p.ShadowDenied = s.shadows.asked[p.Name], s.shadows.denied[p.Name]
	}
	r.Policies = busiest(t.policies)
	return r
}
