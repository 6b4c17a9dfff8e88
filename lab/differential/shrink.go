package differential

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/lab/model"
)

// Differs reports whether the answers to a case's steps still differ from the model's. The model computes all answers
// again, because removing a step changes later answers.
func Differs(t *testing.T, store engine.Store, clock *headgatetest.Clock, c *model.Case) bool {
	t.Helper()
	subject := model.New()
	for i := range c.Steps {
		s := &c.Steps[i]
		limits := c.LimitSets[s.Set]
		s.Want = subject.ApplyCosts(limits, s.Each(limits), s.Op, s.AtUS)
	}
	const space = "shrink"
	file := translate(t, *c, space)
	different, err := file.Replay(context.Background(), store, space, clock.Set)
	if err := file.Forget(context.Background(), store, space); err != nil {
		t.Fatal(err)
	}
	return err != nil || len(different) > 0
}

// shrink removes steps as long as a difference remains, and returns the file to store in testdata/cases.
func shrink(t *testing.T, store engine.Store, clock *headgatetest.Clock, c model.Case) string {
	t.Helper()
	for size := len(c.Steps) / 2; size > 0; size /= 2 {
		for from := 0; from+size <= len(c.Steps); {
			less := model.Case{LimitSets: c.LimitSets, Steps: slices.Delete(slices.Clone(c.Steps), from, from+size)}
			if len(less.Steps) > 0 && Differs(t, store, clock, &less) {
				c = less
			} else {
				from += size
			}
		}
	}
	Differs(t, store, clock, &c) // this computes the answers to the remaining steps
	data, err := json.Marshal(model.File{About: "shrunk", Cases: []model.Case{c}})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
