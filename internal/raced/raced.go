// Package raced tells tests whether the race detector runs.
package raced

// Size returns full, or small if the race detector runs. Use it for the number of steps in a single-goroutine test of
// arithmetic. More steps find mistakes, but no races, and take five to ten times as long under the detector. The full
// number runs without the detector.
func Size(full, small int) int {
	if On {
		return small
	}
	return full
}
