package resp_test

import (
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/headgate/headgate/server/internal/resp"
)

const aborted = "-EXECABORT Transaction discarded because of previous errors."

func TestTransactionCommands(t *testing.T) {
	a := &fakeDecider{}
	converse(t, resp.Config{Decisions: a.decisions(), Decide: a.decide}, [][2]string{
		{"EXEC", "-ERR EXEC without MULTI"},
		{"DISCARD", "-ERR DISCARD without MULTI"},
		{"WATCH k", "-ERR unknown command 'WATCH'"},

		{"MULTI", "+OK"},
		{"EXEC", "*0"},

		// Queued words are copied, because the next command overwrites the buffer.
		{"MULTI", "+OK"},
		{"ask a b", "+QUEUED"},
		{"ask c bad", "+QUEUED"},
		{"ask d e", "+QUEUED"},
		{"PING f g", "+QUEUED"},
		{"SELECT 0", "+QUEUED"},
		{"ask h i", "+QUEUED"},
		{"MULTI", "-ERR MULTI calls can not be nested"},
		{"EXEC", "*6\r\n+a+b\r\n-ERR bad key\r\n+d+e\r\n-ERR wrong number of arguments for 'ping' command\r\n+OK\r\n+h+i"},
		{"EXEC", "-ERR EXEC without MULTI"},

		{"MULTI", "+OK"},
		{"ask a", "+QUEUED"},
		{"DISCARD", "+OK"},
		{"EXEC", "-ERR EXEC without MULTI"},

		{"MULTI", "+OK"},
		{"NOSUCH", "-ERR unknown command 'NOSUCH'"},
		{"ask a", "+QUEUED"},
		{"EXEC", aborted},
		{"EXEC", "-ERR EXEC without MULTI"},

		{"MULTI", "+OK"},
		{"ask", "-ERR wrong number of arguments for 'ask' command"},
		{"EXEC", aborted},

		{"MULTI", "+OK"},
		{"ask a", "+QUEUED"},
		{"RESET", "+RESET"},
		{"EXEC", "-ERR EXEC without MULTI"},

		{"MULTI", "+OK"},
		{"CLIENT GETNAME", "+QUEUED"},
		{"HELLO 3 NOSUCH", "+QUEUED"},
		{"EXEC", "*2\r\n$-1\r\n-ERR Syntax error in HELLO option 'NOSUCH'"},

		{"MULTI", "+OK"},
		{"QUIT", "+OK"},
	})
	if want := [][]string{{"a", "b", "d", "e"}, {"h", "i"}}; !reflect.DeepEqual(a.calls, want) {
		t.Errorf("Decide was called with %q, want %q", a.calls, want)
	}
}

// TestQueueIsBounded checks that a transaction is bounded by its number of commands, and by the bytes of their words
// plus 32 per word.
func TestQueueIsBounded(t *testing.T) {
	const tooLong = "-ERR transaction is too long: at most 1024 commands and 1048576 bytes can be queued\r\n"
	long := "*2\r\n$4\r\nPING\r\n$65536\r\n" + strings.Repeat("x", 65536) + "\r\n"
	for _, c := range []struct {
		command string
		fit     int // (4+32)+(65536+32) bytes fit 15 times into 2^20
	}{{"PING\r\n", 1024}, {long, 15}} {
		inBubble(t, resp.Config{}, func(t *testing.T, _ *resp.Server, l *listener) {
			client := l.dial()
			exchange(t, client, "MULTI\r\n")
			for range c.fit {
				if got := exchange(t, client, c.command); got != "+QUEUED\r\n" {
					t.Fatalf("%q", got)
				}
			}
			if got := exchange(t, client, c.command); got != tooLong {
				t.Errorf("one more than %d: %q", c.fit, got)
			}
			if got := exchange(t, client, "PING\r\nEXEC\r\nPING\r\n"); got != "+QUEUED\r\n"+aborted+"\r\n+PONG\r\n" {
				t.Errorf("then: %q", got)
			}
		})
	}
}

// TestQueuesOfAllClientsAreBounded checks that transactions of all clients together queue 32 MiB at most and those of one
// address a share of them, and that a client that ends gives its places back (regression: bug 109).
func TestQueuesOfAllClientsAreBounded(t *testing.T) {
	const tooMany = "-ERR transactions of this client or of all clients"
	long := "*2\r\n$4\r\nPING\r\n$65536\r\n" + strings.Repeat("x", 65536) + "\r\n"
	inBubble(t, resp.Config{}, func(t *testing.T, _ *resp.Server, l *listener) {
		queued := 0
		var clients []net.Conn
		var refused string
		for range 40 {
			client := l.dial()
			clients = append(clients, client)
			exchange(t, client, "MULTI\r\n")
			for range 15 {
				got := exchange(t, client, long)
				if got != "+QUEUED\r\n" {
					refused = got
					break
				}
				queued++
			}
			if refused != "" {
				break
			}
		}
		if !strings.HasPrefix(refused, tooMany) || queued*65536 > 32<<20 || queued*65536 < 28<<20 {
			t.Fatalf("%d commands of 64 KiB were queued, then %q", queued, refused)
		}
		last := clients[len(clients)-1]
		if got := exchange(t, last, "EXEC\r\n"); got != aborted+"\r\n" {
			t.Errorf("after it: %q", got)
		}
		exchange(t, clients[0], "DISCARD\r\n")
		exchange(t, last, "MULTI\r\n")
		if got := exchange(t, last, long); got != "+QUEUED\r\n" {
			t.Errorf("after another's DISCARD: %q", got)
		}
	})
}
