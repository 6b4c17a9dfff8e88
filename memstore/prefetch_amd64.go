package memstore

import "unsafe"

// prefetchWrite starts to fetch a cache line for writing. It does not wait, so the fetch overlaps with the code after
// the call. Go has no intrinsic for prefetching.
//
//go:noescape
func prefetchWrite(line unsafe.Pointer)

// prefetchSlot starts to fetch a mark for reading, and a slot for writing.
//
//go:noescape
func prefetchSlot(mark, slot unsafe.Pointer)
