package main

import (
	"strings"
	"testing"
	"time"
)

func TestProgressRedrawsOneLine(t *testing.T) {
	for _, c := range []struct {
		read, size int64
		took       time.Duration
		want       string
	}{
		{0, 0, 0, "read 0 MiB, 0 MiB/s"},
		{50 << 20, 0, time.Second, "read 50 MiB, 50 MiB/s"},
		{50 << 20, 200 << 20, time.Second, "[███████·······················]  25 %  50 MiB/s  3s left"},
		{300 << 20, 200 << 20, time.Second, "[██████████████████████████████] 100 %  300 MiB/s  0s left"},
	} {
		var b strings.Builder
		drawProgress(&b, c.read, c.size, c.took)
		if got := b.String(); got != "\r\x1b[K"+c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

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
