package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/lab/model"
	"github.com/headgate/headgate/lab/script"
)

// attempts numbers the namespaces of Differs, because a store keeps the open reservations of an earlier attempt.
var attempts atomic.Int64

// Differs reports whether the answers to a case's steps still differ from the model's. The model computes all answers
// again, because removing a step changes later answers. An error means that the case cannot be replayed.
func Differs(t *testing.T, store engine.Store, clock *headgatetest.Clock, c *model.Case) (bool, error) {
	t.Helper()
	if err := script.Answer(c); err != nil {
		return false, err
	}
	space := fmt.Sprint("shrink-", attempts.Add(1))
	file := translate(t, *c, space)
	different, err := file.Replay(context.Background(), store, space, clock.Set)
	if err := file.Forget(context.Background(), store, space); err != nil {
		t.Fatal(err)
	}
	return len(different) > 0, err
}

// shrink removes steps as long as a difference remains, and returns the file to store in testdata/cases.
func shrink(t *testing.T, store engine.Store, clock *headgatetest.Clock, c model.Case) string {
	t.Helper()
	for size := len(c.Steps) / 2; size > 0; size /= 2 {
		for from := 0; from+size <= len(c.Steps); {
			less := without(c, from, from+size)
			if differs, err := Differs(t, store, clock, &less); differs && err == nil {
				c = less
			} else {
				from += size
			}
		}
	}
	if err := script.Answer(&c); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(model.File{About: "shrunk", Cases: []model.Case{c}})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// without returns a case without some steps, and without the settlements of their reservations.
func without(c model.Case, from, to int) model.Case {
	less, numbers := model.Case{LimitSets: c.LimitSets}, map[int]int{} // the new numbers of steps, counted from 1
	for i, s := range c.Steps {
		if i >= from && i < to || s.Of > 0 && numbers[s.Of] == 0 {
			continue
		}
		s.Of = numbers[s.Of]
		less.Steps = append(less.Steps, s)
		numbers[i+1] = len(less.Steps)
	}
	return less
}
