package chart

import (
	"strings"
	"testing"
)

func TestNumbersOfScales(t *testing.T) {
	for n, want := range map[int64]string{9999: "9 999", 12_345: "12k", 12_345_678: "12M"} {
		if got := Short(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for most, want := range map[int64]int64{1: 1, 4: 1, 7: 2, 40: 10, 99: 20, 1_000_000: 500_000} {
		if got := tick(most); got != want {
			t.Errorf("tick of %d: %d, want %d", most, got, want)
		}
	}
}

// TestCurves checks that values are clamped to the scale, and that names are escaped.
func TestCurves(t *testing.T) {
	svg := Lines("about", []Line{{Name: "<a>", Values: []float64{-5, 0, 100, 999}}, {Name: "none"}}, 100, []string{"left", "right"})
	for _, want := range []string{
		`points="58,204.0 355,204.0 651,14.0 948,14.0"`, "<title>&lt;a&gt;</title>", `class="start" x="58.0"`, `class="end" x="948.0"`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s is missing in %s", want, svg)
		}
	}
	if strings.Count(svg, "<polyline") != 1 {
		t.Error("a curve without values is drawn")
	}
}
