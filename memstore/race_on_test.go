//go:build race

package memstore_test

// raced is set where the race detector runs: it makes pools drop what they hold,
// so allocations cannot be counted.
const raced = true
