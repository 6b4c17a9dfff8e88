package storetest

import (
	"context"
	"slices"

	"github.com/headgate/headgate/engine"
)

// Away returns the store as it is while a part of it does not answer: operations on the given keys get
// [engine.ErrStoreUnavailable].
func Away(store engine.Store, keys ...string) engine.Store { return &away{store, keys} }

type away struct {
	engine.Store

	keys []string
}

func (a *away) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	for i := range ops {
		if slices.Contains(a.keys, ops[i].Key) {
			results[i].Err = engine.ErrStoreUnavailable
			continue
		}
		a.Store.Do(ctx, ops[i:i+1], results[i:i+1])
	}
}
