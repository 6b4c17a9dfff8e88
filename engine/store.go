package engine

import "context"

// Store decides. It has one verb; everything else is built on it.
//
// The rules that every store keeps are checked by package storetest, which says
// why each exists. In short: each Op is decided in one atomic step, exactly as
// package algo's steps do; the store's own clock is the only one that counts,
// and results carry it; nothing is written by a peek, a refusal changes no
// count, and what is stored expires when it equals absence, never before.
type Store interface {
	// Do decides the operations, each on its own, in order for each key, and
	// puts their answers into results, which is as long as ops. An error of
	// one operation is in its result. Do keeps ctx's deadline: what is not
	// decided by then gets ctx's error.
	//
	// Callers have checked the operations ([Op.Check]); one whose result
	// already has an error is left alone. Calls may overlap. The store must not
	// change ops. Once Do has returned, early or late, it must not read ops,
	// results or the bytes of their strings: keys, spaces and ids may lie in a
	// buffer that the caller writes over. It copies what it keeps.
	Do(ctx context.Context, ops []Op, results []Result)
	// Close frees what the store holds; later calls answer [ErrClosed]. It may
	// be called twice.
	Close() error
}
