package main

import (
	"testing"

	"github.com/headgate/headgate/examples/internal/exampletest"
)

func TestPrints(t *testing.T) {
	exampletest.Prints(t, run, `reply: 5 of 20 pass
reply: 5 more: allowed=false, wait restarted=false
reply-count-denied: 5 of 20 pass
reply-count-denied: 5 more: allowed=false, wait restarted=true
`)
}
