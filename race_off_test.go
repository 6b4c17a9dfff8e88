//go:build !race

package headgate_test

const raced = false
