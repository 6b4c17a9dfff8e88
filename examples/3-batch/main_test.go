package main

import (
	"testing"

	"github.com/headgate/headgate/examples/internal/exampletest"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/open"
)

const printed = `alice: allowed=true remaining=5
alice: allowed=true remaining=4
bob: allowed=true remaining=5
AllowEach 0: allowed=true remaining=1
AllowEach 1: allowed=false remaining=1
AllowEach 2: allowed=true remaining=4
`

func TestPrintsInMemory(t *testing.T) {
	exampletest.PrintsOn(t, run, open.Memory, printed)
}

func TestPrintsRoundTripsOnRedis(t *testing.T) {
	exampletest.PrintsOn(t, run, "redis://"+redistest.Standalone(t, redistest.Redis).Addr(),
		printed+"round trips of the 3 requests: 1\n")
}
