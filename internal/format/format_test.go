package format_test

import (
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/internal/format"
)

func TestCeil(t *testing.T) {
	for d, want := range map[time.Duration]int64{
		0: 0, 1: 1, time.Millisecond - 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, -1: 0, -time.Millisecond: -1,
		1<<63 - 1: 9223372036855, // no overflow
	} {
		if got := format.Millis(d); got != want {
			t.Errorf("%d ns: %d ms, want %d", d, got, want)
		}
	}
}

func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("x", 127) + "éé"
	if got, want := format.Cut(long), strings.Repeat("x", 127)+"…"; got != want {
		t.Errorf("cut: %q", got)
	}
	if got := format.Quote(long); len(got) > 140 || got[:2] != `"x` {
		t.Errorf("quoted: %s", got)
	}
	if format.Cut("é") != "é" || format.Quote("é") != `"é"` {
		t.Error("a short text is cut")
	}
}
