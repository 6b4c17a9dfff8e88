package steps

import (
	"testing"

	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/lab/differential"
	"github.com/headgate/headgate/lab/script"
	"github.com/headgate/headgate/lab/testbed"
)

// TestRestoredDifferential runs random scripts of every algorithm on the model and on a store that is saved and
// restored between calls. The clock is not set back, because expired states are not saved, which would become visible
// at times before their expiry.
func TestRestoredDifferential(t *testing.T) {
	for _, algorithm := range script.Algorithms {
		for name, options := range differential.Kinds {
			if options.ClockSteps {
				continue
			}
			t.Run(algorithm+"/"+name, func(t *testing.T) {
				t.Parallel()
				for i := range max(1, *differential.Steps/differential.CaseSteps/len(differential.Kinds)) {
					clock := headgatetest.NewClock()
					differential.Run(t, testbed.NewRestored(t, clock.Now), clock, algorithm, name, options, *differential.Seed+uint64(i))
				}
			})
		}
	}
}
