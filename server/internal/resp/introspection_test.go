package resp_test

import (
	"bufio"
	"regexp"
	"strings"
	"testing"

	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/resptest"
)

// TestCommand checks that COMMAND describes every command, sorted by name, in the form of Redis 7.
func TestCommand(t *testing.T) {
	const (
		ask  = "*10\r\n$3\r\nask\r\n:-2\r\n*1\r\n+fast\r\n:1\r\n:-1\r\n:1\r\n*1\r\n+@fast\r\n*0\r\n*0\r\n*0\r\n"
		exec = "*10\r\n$4\r\nexec\r\n:1\r\n*0\r\n:0\r\n:0\r\n:0\r\n*1\r\n+@slow\r\n*0\r\n*0\r\n*0\r\n"
	)
	inBubble(t, resp.Config{Decisions: (&fakeDecider{}).decisions(), Decide: (&fakeDecider{}).decide}, func(t *testing.T, _ *resp.Server, l *listener) {
		client := l.dial()
		for command, want := range map[string]string{
			"COMMAND COUNT":                "^:14$",
			"COMMAND COUNT 1":              "^-ERR wrong number of arguments for 'command.count' command$",
			"COMMAND INFO ASK nosuch exec": "^" + regexp.QuoteMeta("*3\r\n"+ask+"$-1\r\n"+strings.TrimSuffix(exec, "\r\n")) + "$",
			"COMMAND INFO":                 "^" + regexp.QuoteMeta("*14\r\n"+ask),
			"COMMAND DOCS ask nosuch":      "^" + regexp.QuoteMeta("*2\r\n$3\r\nask\r\n*2\r\n$7\r\nsummary\r\n"),
			"COMMAND DOCS":                 "^[*]28\r\n",
			"COMMAND KEYS":                 "^-ERR unknown subcommand 'KEYS'$",
		} {
			if got := strings.TrimSuffix(exchange(t, client, command+"\r\n"), "\r\n"); !regexp.MustCompile(want).MatchString(got) {
				t.Errorf("%s: %q, want %q", command, got, want)
			}
		}
		all := exchange(t, client, "COMMAND\r\n")
		if !strings.Contains(all, ask) || !strings.Contains(all, exec) {
			t.Errorf("%q", all)
		}
		v, err := resptest.Read(bufio.NewReader(strings.NewReader(all)))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, cmd := range v.Items {
			names = append(names, cmd.Items[0].Text)
		}
		if got, want := strings.Join(names, " "), "ask auth client command discard echo exec hello info multi ping quit reset select"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// TestRESP3Types checks which replies are sets, nulls and verbatim strings in RESP3.
func TestRESP3Types(t *testing.T) {
	inBubble(t, resp.Config{Decisions: (&fakeDecider{}).decisions(), Decide: (&fakeDecider{}).decide}, func(t *testing.T, _ *resp.Server, l *listener) {
		client := l.dial()
		exchange(t, client, "HELLO 3\r\n")
		for _, c := range [][2]string{
			{"COMMAND", "*14\r\n*10\r\n$3\r\nask\r\n:-2\r\n~1\r\n+fast\r\n"},
			{"COMMAND INFO nosuch", "*1\r\n_\r\n"},
			{"COMMAND DOCS ask", "%1\r\n$3\r\nask\r\n%1\r\n$7\r\nsummary\r\n"},
			{"CLIENT GETNAME", "_\r\n"},
			{"INFO cluster", "=192\r\ntxt:# Server\r\n"},
		} {
			if got := exchange(t, client, c[0]+"\r\n"); !strings.HasPrefix(got, c[1]) {
				t.Errorf("%s: %q, want %q…", c[0], got, c[1])
			}
		}
	})
}

// TestInfoHasTheFieldsOfClients checks the fields of INFO that clients read when they connect, whatever sections they name.
func TestInfoHasTheFieldsOfClients(t *testing.T) {
	inBubble(t, resp.Config{Version: "1.2.3"}, func(t *testing.T, _ *resp.Server, l *listener) {
		client := l.dial()
		for _, sections := range []string{"", " server", " Replication CLUSTER", " nosuch"} {
			fields := map[string]string{}
			for line := range strings.SplitSeq(exchange(t, client, "INFO"+sections+"\r\n"), "\r\n") {
				name, value, _ := strings.Cut(line, ":")
				fields[name] = value
			}
			for name, want := range map[string]string{
				"redis_version": "7.2.0", "redis_mode": "standalone", "headgate_version": "1.2.3", "loading": "0", "role": "master", "connected_slaves": "0", "cluster_enabled": "0",
			} {
				if fields[name] != want {
					t.Errorf("INFO%s: %s is %q, want %q", sections, name, fields[name], want)
				}
			}
		}
	})
}
