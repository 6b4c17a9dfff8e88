package main

import (
	"testing"
)

func TestSharesAreReadAsPercentOrParts(t *testing.T) {
	for text, want := range map[string]float64{"0.1%": 0.001, "1 %": 0.01, "0.5": 0.5, "100%": 1, "0": 0} {
		if got, err := readShare("--deny", text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "%", "-1%", "101%", "NaN", "a"} {
		if got, err := readShare("--deny", text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
