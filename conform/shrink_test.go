package conform

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/headgate/headgate/conform/model"
	"github.com/headgate/headgate/conform/redistest"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
)

// differs reports whether the answers to a case's steps still differ from the model's.
// The model decides again, because later answers change without a step.
func differs(t *testing.T, store engine.Store, clock *headgatetest.Clock, c *model.Case) bool {
	t.Helper()
	subject := model.New()
	for i := range c.Steps {
		s := &c.Steps[i]
		s.Want = subject.Apply(c.LimitSets[s.Set], s.Op, s.N, s.AtUS)
	}
	file := translate(t, *c)
	const space = "shrink"
	different, err := file.Replay(context.Background(), store, space, clock.Set)
	if err := file.Forget(context.Background(), store, space); err != nil {
		t.Fatal(err)
	}
	return err != nil || len(different) > 0
}

// shrink removes steps as long as a difference remains, and returns the file to keep in
// testdata/cases.
func shrink(t *testing.T, store engine.Store, clock *headgatetest.Clock, c model.Case) string {
	t.Helper()
	for size := len(c.Steps) / 2; size > 0; size /= 2 {
		for from := 0; from+size <= len(c.Steps); {
			less := model.Case{LimitSets: c.LimitSets, Steps: slices.Delete(slices.Clone(c.Steps), from, from+size)}
			if len(less.Steps) > 0 && differs(t, store, clock, &less) {
				c = less
			} else {
				from += size
			}
		}
	}
	differs(t, store, clock, &c) // the answers to the remaining steps
	data, err := json.Marshal(model.File{About: "shrunk", Cases: []model.Case{c}})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestCases replays the cases in which a store once differed from the model.
func TestCases(t *testing.T) {
	clock := headgatetest.NewClock()
	memory, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	s := redistest.Standalone(t, redistest.Redis)
	redis := openRueidis(t, at(s.Addr(), ""), redisstore.Config{Clock: clock.Now})
	files, err := filepath.Glob("testdata/cases/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var file model.File
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatal(err)
		}
		for i := range file.Cases {
			for engine, store := range map[string]engine.Store{"memory": memory, "redis": redis} {
				if differs(t, store, clock, &file.Cases[i]) {
					t.Errorf("%s, case %d: %s differs", name, i, engine)
				}
			}
		}
	}
}
