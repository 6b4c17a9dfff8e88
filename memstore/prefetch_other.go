//go:build !amd64

package memstore

import "unsafe"

// Other architectures do not prefetch. Their decisions are the same, but slightly slower.

func prefetchWrite(unsafe.Pointer)     {}
func prefetchSlot(_, _ unsafe.Pointer) {}
