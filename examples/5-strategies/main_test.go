package main

import (
	"testing"

	"github.com/headgate/headgate/examples/internal/exampletest"
)

func TestPrints(t *testing.T) {
	exampletest.Prints(t, run, `fixed-window: 3 of 5 pass
sliding-window-lenient: 3 of 5 pass
sliding-window-strict: 3 of 5 pass
leaky-bucket: 3 of 5 pass
token-bucket: 3 of 5 pass
request 0: passes
request 1: passes
request 2: denied by the window 2/2s
request 3: passes
request 4: denied by the window 3/1h
headgate: policy "wrong": And is 5/s beside 5/1m; accepted: each shorter window with a smaller limit than the longer ones
headgate: policy "wrong": SegmentLength is 100ms; accepted: a length that goes 1 to 1000 times into 1.05s
`)
}
