// Package raced tells tests whether the race detector runs.
package raced

// Size returns full, or small if the race detector runs. It is for the number of steps of a test of arithmetic in one
// goroutine: more of them find mistakes, but no races, and take five to ten times as long under the detector. The
// full number runs without it.
func Size(full, small int) int {
	if On {
		return small
	}
	return full
}
