package resp_test

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/headgate/headgate/server/internal/resp"
)

// TestPipelineIsAnsweredTogether checks that commands that arrived together are answered in order in one write, and
// that consecutive decision commands are decided in one call.
func TestPipelineIsAnsweredTogether(t *testing.T) {
	for _, c := range []struct {
		send, want string
		calls      [][]string
	}{
		{"ask a\r\nask b c\r\nask d\r\n", "+a\r\n+b+c\r\n+d\r\n", [][]string{{"a", "b", "c", "d"}}},
		{
			"ask a\r\nask b\r\nPING\r\nask c\r\nask d\r\n", "+a\r\n+b\r\n+PONG\r\n+c\r\n+d\r\n",
			[][]string{{"a", "b"}, {"c", "d"}},
		},
		// A command that cannot be parsed makes no requests, and does not split a call.
		{"ask a\r\nask x bad\r\nask b\r\n", "+a\r\n-ERR bad key\r\n+b\r\n", [][]string{{"a", "b"}}},
		{"ask bad\r\nPING\r\n", "-ERR bad key\r\n+PONG\r\n", nil},
		{"ask a\r\nask\r\nask b\r\n", "+a\r\n-ERR wrong number of arguments for 'ask' command\r\n+b\r\n", [][]string{{"a"}, {"b"}}},
		{
			"ask a\r\nMULTI\r\nask b\r\nask c\r\nEXEC\r\nask d\r\n", "+a\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+b\r\n+c\r\n+d\r\n",
			[][]string{{"a"}, {"b", "c"}, {"d"}},
		},
		// Inline commands and arrays, including empty ones.
		{"\r\n*2\r\n$3\r\nASK\r\n$1\r\na\r\n*0\r\nask b\n", "+a\r\n+b\r\n", [][]string{{"a", "b"}}},
	} {
		a := &fakeDecider{}
		inBubble(t, resp.Config{Decisions: a.decisions(), Decide: a.decide}, func(t *testing.T, _ *resp.Server, l *listener) {
			if got := exchange(t, l.dial(), c.send); got != c.want {
				t.Errorf("%q is answered\n%q, want\n%q", c.send, got, c.want)
			}
		})
		if !reflect.DeepEqual(a.calls, c.calls) {
			t.Errorf("%q calls Decide with %q, want %q", c.send, a.calls, c.calls)
		}
	}
}

// TestRepliesDoNotWaitForHalfACommand checks that complete commands are answered even if the next one has only partly
// arrived.
func TestRepliesDoNotWaitForHalfACommand(t *testing.T) {
	a := &fakeDecider{}
	inBubble(t, resp.Config{Decisions: a.decisions(), Decide: a.decide}, func(t *testing.T, _ *resp.Server, l *listener) {
		client := l.dial()
		for _, c := range [][2]string{{"ask a\r\nask b\r\nas", "+a\r\n+b\r\n"}, {"k c\r\nask d\r\n", "+c\r\n+d\r\n"}} {
			if got := exchange(t, client, c[0]); got != c[1] {
				t.Errorf("%q is answered %q, want %q", c[0], got, c[1])
			}
		}
	})
	if want := [][]string{{"a", "b"}, {"c", "d"}}; !reflect.DeepEqual(a.calls, want) {
		t.Errorf("Decide was called with %q, want %q", a.calls, want)
	}
}

// TestLongPipelineIsSplit checks that a call contains at most the 1024 commands of one batch. The replies to several
// batches are still sent in one write.
func TestLongPipelineIsSplit(t *testing.T) {
	a := &fakeDecider{}
	inBubble(t, resp.Config{Decisions: a.decisions(), Decide: a.decide}, func(t *testing.T, _ *resp.Server, l *listener) {
		if got, want := exchange(t, l.dial(), strings.Repeat("ask a\r\n", 1500)), strings.Repeat("+a\r\n", 1500); got != want {
			t.Errorf("%d bytes of replies, want %d", len(got), len(want))
		}
	})
	if len(a.calls) != 2 || len(a.calls[0]) != 1024 || len(a.calls[1]) != 476 {
		t.Errorf("%d calls, want one of 1024 and one of 476", len(a.calls))
	}
}

// TestOutputIsBounded checks that long replies are written before the next commands are answered, so that the buffer
// holds at most 64 KiB plus one reply.
func TestOutputIsBounded(t *testing.T) {
	for _, c := range []struct{ name, before, after string }{{"pipeline", "", ""}, {"transaction", "MULTI\r\n", "EXEC\r\n"}} {
		inBubble(t, resp.Config{}, func(t *testing.T, _ *resp.Server, l *listener) {
			client := l.dial()
			one := len(exchange(t, client, "COMMAND\r\n"))
			go func() {
				_, _ = io.WriteString(client, c.before+strings.Repeat("COMMAND\r\n", 100)+c.after+"QUIT\r\n")
			}()
			total, writes := 0, 0
			for total < 100*one {
				n := len(receive(t, client))
				if n >= 64<<10+one {
					t.Fatalf("%s: a write of %d bytes, though one reply has %d", c.name, n, one)
				}
				total, writes = total+n, writes+1
			}
			if most := 100*one>>16 + 1; writes > most {
				t.Errorf("%s: %d writes, want at most %d", c.name, writes, most)
			}
			readToEnd(t, client)
		})
	}
}
