package engine

import (
	"context"
	"iter"
)

// Store decides operations. It has one verb, Do; the API is built on it.
//
// Package storetest checks the rules that every store keeps, and says why each exists. In
// short: the store decides each Op in one atomic step, exactly as the steps of package
// algo do. Only the store's own clock counts, and results carry its time. A peek writes
// nothing, and a denial changes no count. A state expires when it equals no state, never
// before.
type Store interface {
	// Do decides the operations, each on its own, in order for each key, and writes their
	// answers into results, which is as long as ops. The error of one operation is in its
	// result. Do respects ctx's deadline: an operation not decided by then gets ctx's
	// error.
	//
	// The caller has checked the operations ([Op.Check]); Do skips one whose result
	// already has an error. Calls may overlap. The store must not change ops. Once Do has
	// returned, early or late, it must not read ops, results or the bytes of their
	// strings, because keys, spaces and ids may lie in a buffer that the caller
	// overwrites. It copies what it keeps.
	Do(ctx context.Context, ops []Op, results []Result)
	// Close frees what the store holds. It is idempotent. After Close every method
	// returns [ErrClosed].
	Close() error
}

// Layers yields a store and those behind it: a layer has a method Unwrap.
func Layers(store Store) iter.Seq[Store] {
	return func(yield func(Store) bool) {
		for store != nil && yield(store) {
			layer, ok := store.(interface{ Unwrap() Store })
			if !ok {
				return
			}
			store = layer.Unwrap()
		}
	}
}
