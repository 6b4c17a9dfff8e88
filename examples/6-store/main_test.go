package main

import (
	"testing"

	"github.com/headgate/headgate/examples/internal/exampletest"
)

func TestPrints(t *testing.T) {
	exampletest.Prints(t, run, `true 1
true 0
false 0
`)
}
