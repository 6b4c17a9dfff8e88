package suggest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the example log")

// TestExampleLogEqualsTheGenerators checks that the generator makes the log in the documentation. The known answers
// in the tests therefore apply to that log.
func TestExampleLogEqualsTheGenerators(t *testing.T) {
	path := filepath.Join("..", "..", "..", "..", "examples", "replay", "access.log")
	var b bytes.Buffer
	for _, l := range makeTraffic(exampleTraffic) {
		if err := l.Combined(&b); err != nil {
			t.Fatal(err)
		}
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stored, b.Bytes()) {
		t.Errorf("%s is not what the generator makes; go test ./internal/replay/suggest -update writes it", path)
	}
	if len(stored) > 200<<10 {
		t.Errorf("%s has %d bytes, more than 200 KiB", path, len(stored))
	}
}

func TestMakeRepeatsALogAndKeepsItsBounds(t *testing.T) {
	o := exampleTraffic
	o.LeakEvery = time.Minute
	lines, again := makeTraffic(o), makeTraffic(o)
	if !slices.Equal(lines, again) {
		t.Error("one seed makes two logs")
	}
	o.Seed++
	if slices.Equal(lines, makeTraffic(o)) {
		t.Error("two seeds make one log")
	}
	seen := map[Actor]int{}
	for i, l := range lines {
		seen[l.Actor]++
		if l.Time.Before(o.Start) || !l.Time.Before(o.Start.Add(o.Length)) || i > 0 && l.Time.Before(lines[i-1].Time) {
			t.Fatalf("line %d is at %v", i, l.Time)
		}
	}
	for _, actor := range []Actor{Reader, Scraper, Cron, Leak, NAT} {
		if seen[actor] == 0 {
			t.Errorf("no request of %s", actor)
		}
	}
}
