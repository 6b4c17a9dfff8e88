package chart

import "testing"

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
