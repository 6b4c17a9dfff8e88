package lua

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/lab/differential"
	"github.com/headgate/headgate/lab/model"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
)

// TestCases replays cases in which a store once differed from the model.
func TestCases(t *testing.T) {
	clock := headgatetest.NewClock()
	memory, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	s := redistest.Standalone(t, redistest.Redis)
	redis := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Clock: clock.Now})
	files, err := filepath.Glob("../testdata/cases/*.json")
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
				if differs, err := differential.Differs(t, store, clock, &file.Cases[i]); differs || err != nil {
					t.Errorf("%s, case %d: %s differs, %v", name, i, engine, err)
				}
			}
		}
	}
}
