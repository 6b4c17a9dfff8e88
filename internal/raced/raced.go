// Package raced tells tests whether the race detector is enabled.
package raced

// Size returns full, or small if the race detector is enabled. Use it for the number of steps in single-goroutine
// tests of arithmetic. There, more steps find more mistakes but no races, and take five to ten times as long with the
// detector. The full number runs without it.
func Size(full, small int) int {
	if On {
		return small
	}
	return full
}
