//go:build race

package headgate_test

// raced is set when the race detector runs. It makes pools drop their memory, so allocations cannot be counted.
const raced = true
