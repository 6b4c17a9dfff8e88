//go:build !amd64

package memstore

import "unsafe"

// Elsewhere nothing is fetched ahead: the same decisions, a little later.

func prefetchWrite(unsafe.Pointer)     {}
func prefetchSlot(_, _ unsafe.Pointer) {}
