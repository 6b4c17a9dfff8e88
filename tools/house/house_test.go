package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHouse checks that every import points downwards, and that the page matches the code.
func TestHouse(t *testing.T) {
	h, err := inspect("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range h.faults {
		t.Error(fault)
	}
	page, err := os.ReadFile("../../docs/design/house.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != h.page() {
		t.Error("docs/design/house.md is not what the imports are; run: cd tools && GOWORK=off go run ./house")
	}
}

// TestUpwardImport checks that an import that points upwards is found, and that a package without a room is found.
func TestUpwardImport(t *testing.T) {
	h := &house{needs: map[string]map[string]bool{}}
	h.look("engine", []string{module + "/memstore", module + "/engine/algo", "fmt"})
	h.look("attic", nil)
	if len(h.faults) != 2 || !strings.Contains(h.faults[0], "engine (engine) imports memstore (memstore), which does not stand below") || !strings.Contains(h.faults[1], "attic stands in no room") {
		t.Errorf("%q", h.faults)
	}
	if !h.needs["engine"]["algorithms"] {
		t.Error("an import that leads down is missing")
	}
}

// TestInternalAcrossModules checks that an import of another module's internal package is found, and one of lab.
func TestInternalAcrossModules(t *testing.T) {
	h := &house{}
	h.lookAcross("policy", module+"/policy", []string{module + "/internal/queue", module + "/policy/internal/glob", module + "/engine", "fmt"})
	h.lookAcross("httplimit", module, []string{module + "/internal/queue", module})
	h.lookAcross("server/daemon", module+"/server", []string{module + "/internal/format", module + "/server/internal/admin"})
	h.lookAcross("open", module+"/open", []string{module + "/lab/redistest"})
	if len(h.faults) != 2 || !strings.Contains(h.faults[0], "policy imports internal/queue") || !strings.Contains(h.faults[1], "open imports lab/redistest") {
		t.Errorf("%q", h.faults)
	}
}

// TestStoresReadNoHints checks that only layers read engine.Hints.
func TestStoresReadNoHints(t *testing.T) {
	for _, store := range []string{"memstore", "redisstore"} {
		files, err := filepath.Glob("../../" + store + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(store, len(files), err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), ".Hints") {
				t.Errorf("%s reads the hints of an operation", name)
			}
		}
	}
}
