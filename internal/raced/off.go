//go:build !race

package raced

// On reports whether the race detector is enabled. The detector makes pools drop objects, so allocations cannot be
// counted.
const On = false
