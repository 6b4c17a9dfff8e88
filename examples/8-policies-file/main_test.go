package main

import (
	"testing"

	"github.com/headgate/headgate/examples/internal/exampletest"
)

func TestPrints(t *testing.T) {
	exampletest.Prints(t, run, `laoqian 200
laoqian 200
laoqian 200
laoqian 429
moderator-7 200
`)
}
