package memstore

import "unsafe"

// prefetchWrite begins to fetch a cache line that will be written. It waits for nothing,
// so the fetch overlaps with what follows. Go has no other way to say this.
//
//go:noescape
func prefetchWrite(line unsafe.Pointer)

// prefetchSlot begins to fetch a mark, and a slot that will be written.
//
//go:noescape
func prefetchSlot(mark, slot unsafe.Pointer)
