package resp_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/service"
)

// TestRefusedCommandsAreCounted (regression: bug 187) checks that each command that gets no decision is counted under
// its reason, and that a client library's first commands are not. A program with a wrong secret or command otherwise
// runs without limits, and no metric moves.
func TestRefusedCommandsAreCounted(t *testing.T) {
	users := fmt.Sprintf("{shop: {sha256: [%x], may: [decide]}}", sha256.Sum256([]byte("secret")))
	for _, c := range []struct{ send, why string }{ // why is "" if the command is not counted
		{"ASK key\r\n", ""},
		{"PING\r\n", ""},
		{"CLIENT MAINT_NOTIFICATIONS on\r\n", ""},
		{"PING a b\r\n", ""},
		{"CL.THROTLE k 1 2 3\r\n", "no_path"},
		{"ASK\r\n", "malformed"},
		{"ASK bad\r\n", "malformed"},
		{"*1\r\n$x\r\n", "malformed"},
		{"POST / HTTP/1.1\r\n", "web_page"},
		{"RESET\r\nASK key\r\n", "no_user"},
	} {
		counted := map[string]int{}
		fake := &fakeDecider{}
		inBubble(t, resp.Config{
			Decisions: fake.decisions(), Decide: fake.decide, Users: openUsers(t, users),
			Refused: func(why service.Refusal) { counted[why.String()]++ },
		}, func(t *testing.T, _ *resp.Server, l *listener) {
			client := l.dial()
			exchange(t, client, "AUTH shop secret\r\n")
			go func(client net.Conn) { // the server may close the connection first
				_, _ = io.WriteString(client, c.send+"QUIT\r\n")
			}(client)
			readToEnd(t, client)
		})
		if c.why == "" && len(counted) == 0 || len(counted) == 1 && counted[c.why] == 1 {
			continue
		}
		t.Errorf("%q: counted %v, want one %q", c.send, counted, c.why)
	}
}
