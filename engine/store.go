package engine

import (
	"context"
	"iter"
	"reflect"
)

// Store decides operations. Its central method is Do; the API is built on it.
//
// Package storetest tests the rules for every store and gives their reasons. In short, the store decides each Op in one
// atomic step, exactly like the steps of package algo. Only the store's own clock counts, and answers include its time.
// A peek writes nothing, and a denial changes no count. A state does not expire before it is equivalent to no state.
type Store interface {
	// Do decides the operations separately, in order for each key, and writes their answers to the slice answers, which
	// is as long as ops. If an operation fails, its answer contains the error. Do respects ctx's deadline: an operation
	// that is not decided in time gets ctx's error.
	//
	// The caller has checked the operations ([Op.Check]); Do skips operations whose answers already have an error.
	// Calls may overlap. The store must not change ops. After Do has returned, even early, the store must not read ops,
	// answers or the bytes of their strings, because keys, spaces and ids may be in a buffer that the caller
	// overwrites. It must copy any data that it retains.
	Do(ctx context.Context, ops []Op, answers []Answer)
	// Close frees the store's resources. It is idempotent. After Close every method returns [ErrClosed].
	Close() error
}

// CheckStore returns an [*InputError] if the store, or a store that it wraps, is nil or was not opened.
func CheckStore(store Store) error {
	const accepted = "a store that was opened without an error"
	for {
		if IsNil(store) {
			return InvalidInput("store", "nil", accepted)
		}
		if opened, ok := store.(interface{ Err() error }); ok && opened.Err() != nil {
			return InvalidInput("store", "not open: "+opened.Err().Error(), accepted)
		}
		layer, ok := store.(interface{ Unwrap() Store })
		if !ok {
			return nil
		}
		store = layer.Unwrap()
	}
}

// IsNil reports whether an interface is nil or holds a nil pointer.
func IsNil(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// Layers yields a store and then the stores that it wraps, outermost first. A layer implements an Unwrap method.
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
