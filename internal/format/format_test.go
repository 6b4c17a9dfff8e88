package format_test

import (
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

func TestPrintable(t *testing.T) {
	if got := format.Printable("a\x1b[31m\u202e b\nключ\xff"); got != "a?[31m? b?ключ\ufffd" {
		t.Errorf("%q", got)
	}
}
