package service

import (
	"errors"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
)

// Replies counts the answers to clients while the store is unavailable.
type Replies struct {
	// Allowed counts requests that passed because their failure mode is allow.
	Allowed int64
	// Errors counts requests whose decision is not known.
	Errors int64
	// Local counts requests decided without the store: by this process's share of the limits or with
	// prefetched units.
	Local int64
}

func (r *Replies) decided(p *engine.Promise) {
	switch {
	case p.Mode == engine.Fallback && p.OvershootMax == engine.Unbounded:
		r.Allowed++
	case p.Mode == engine.Fallback || p.Mode == engine.Leased:
		r.Local++
	}
}

// repliesOf counts the answers from one call of Do.
func repliesOf(responses []decide.Response) (r Replies) {
	for i := range responses {
		switch err := responses[i].Err; {
		case err == nil:
			r.decided(&responses[i].Promise)
		case !errors.Is(err, engine.ErrInvalid):
			r.Errors++
		}
	}
	return r
}
