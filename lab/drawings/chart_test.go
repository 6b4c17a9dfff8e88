package drawings

import "testing"

func TestNumbersOfScales(t *testing.T) {
	for n, want := range map[int64]string{9999: "9 999", 12_345: "12k", 12_345_678: "12M"} {
		if got := Short(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
