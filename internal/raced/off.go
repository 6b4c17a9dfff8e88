//go:build !race

package raced

// On is set when the race detector runs. It makes pools drop their memory, so allocations cannot be counted.
const On = false
