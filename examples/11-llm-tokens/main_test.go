package main

import (
	"testing"

	"github.com/headgate/headgate/examples/internal/exampletest"
)

func TestPrints(t *testing.T) {
	exampletest.Prints(t, run, `alice, a short answer: 450 used, 9550 left
alice, a long one: 6500 used, 3050 left
alice, the model fails: 0 used, 3050 left (overloaded)
alice, too much: 0 used, 3050 left (not enough tokens left: 4100 needed, 3050 left)
alice, less: 1100 used, 1950 left
bob, 5 calls at once: 2 denied, 5500 left
`)
}
