//go:build race

package raced

// On reports whether the race detector is enabled. It makes pools drop their memory, so allocations cannot be counted.
const On = true
