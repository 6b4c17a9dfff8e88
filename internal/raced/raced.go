// Package raced reports, for tests, whether the race detector is enabled.
package raced

// Size returns the full number, or the small one if the race detector is enabled. Use it for the number of steps in
// single-goroutine tests of arithmetic. In such tests, more steps find more mistakes but no races, and they take five
// to ten times as long under the detector.
func Size(full, small int) int {
	if On {
		return small
	}
	return full
}
