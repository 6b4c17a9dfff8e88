package main

import (
	"strings"
	"testing"

	"github.com/headgate/headgate/examples/internal/exampletest"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/open"
)

const (
	printed = `request 0: passes, 2 more would pass now
request 1: passes, 1 more would pass now
request 2: passes, 0 more would pass now
request 3: denied by the limit "second"
request 4: denied by the limit "second"
`
	secondKey = "hg/:example-gateway:policy:route/tb/second/{10.0.0.7}"
	dayKey    = "hg/:example-gateway:policy:route/fw86400s/day/{10.0.0.7}"
)

func TestPrintsInMemory(t *testing.T) {
	exampletest.PrintsOn(t, run, open.Memory, printed)
}

// TestPrintsSlotsOnCluster checks the output on a Cluster, and that both keys are in the slot that the program prints.
func TestPrintsSlotsOnCluster(t *testing.T) {
	nodes := redistest.Cluster(t, redistest.Redis)
	exampletest.PrintsOn(t, run, "redis+cluster://"+strings.Join(nodes.Addrs(), ","),
		printed+secondKey+" is in slot 4651\n"+dayKey+" is in slot 4651\n")
	for _, key := range []string{secondKey, dayKey} {
		slot, home := nodes.Of(key)
		if slot != 4651 || home.MustDo("exists", key) != int64(1) {
			t.Errorf("the Cluster has %s in slot %d, want 4651", key, slot)
		}
	}
}
