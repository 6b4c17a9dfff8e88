package main

import (
	"testing"

	"github.com/headgate/headgate/examples/internal/exampletest"
)

func TestPrints(t *testing.T) {
	exampletest.Prints(t, run, `funnel of 15: 15 of 20 pass
CL.THROTTLE 15 30 60: 16 of 20 pass
after sleeping: allowed=true
denied: scheduled again
scheduled: allowed=true
`)
}
