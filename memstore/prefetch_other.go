//go:build !amd64

package memstore

import "unsafe"

// Other architectures do not prefetch: the decisions are the same, a little later.

func prefetchWrite(unsafe.Pointer)     {}
func prefetchSlot(_, _ unsafe.Pointer) {}
