package main

import (
	"strings"
	"testing"

	"github.com/headgate/headgate/lab/simulator/model"
	"github.com/headgate/headgate/lab/simulator/scenario"
)

// results returns the results of a short scenario.
func results(t *testing.T) []*scenario.Result {
	t.Helper()
	s, _ := scenario.Named("steady")
	build := s.Build
	s.Build = func(seed uint64) model.Config {
		c := build(seed)
		c.Length = 20_000_000
		return c
	}
	r, err := s.Run(scenario.Options{Seeds: 1, Limits: []int64{20}})
	if err != nil {
		t.Fatal(err)
	}
	return []*scenario.Result{r}
}

// TestTables checks that every row has as many columns as its header, and that only faults of scenarios that ran are
// listed.
func TestTables(t *testing.T) {
	var b strings.Builder
	report := newReport(1, results(t))
	if err := markdown(&b, report); err != nil {
		t.Fatal(err)
	}
	tables := strings.Split(b.String(), "\n\n")
	if len(tables) != 2 || len(report.Faults) != 1 || report.Faults[0].Gate != "Vegas" {
		t.Fatalf("%d tables, faults %+v", len(tables), report.Faults)
	}
	for _, table := range tables {
		lines := strings.Split(strings.TrimSpace(table), "\n")
		for _, line := range lines {
			if strings.Count(line, "|") != strings.Count(lines[0], "|") {
				t.Errorf("%s: not the columns of %s", line, lines[0])
			}
		}
	}
}
