package model

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestVectors(t *testing.T) {
	paths, err := filepath.Glob("../../storetest/vectors/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			for i, c := range readVectors(t, path).Cases {
				checkCase(t, i, c)
			}
		})
	}
}

func readVectors(t *testing.T, path string) (f File) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		t.Fatal(err)
	}
	return f
}

func checkCase(t *testing.T, i int, c Case) {
	t.Helper()
	s := New()
	for j, step := range c.Steps {
		got := s.ApplyCosts(c.LimitSets[step.Set], step.Each(c.LimitSets[step.Set]), step.Op, step.AtUS)
		if !got.Equal(step.Want) {
			t.Errorf("case %d step %d: %s %d at %d\n got %v\nwant %v", i, j, step.Op, step.N, step.AtUS, got, step.Want)
			return
		}
	}
}
