package resp_test

import (
	"bufio"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/resptest"
)

func TestCommandInfoAndDocs(t *testing.T) {
	const (
		ask     = "*10\r\n$3\r\nask\r\n:-2\r\n*1\r\n+fast\r\n:1\r\n:-1\r\n:1\r\n*1\r\n+@fast\r\n*0\r\n*0\r\n*0"
		exec    = "*10\r\n$4\r\nexec\r\n:1\r\n*0\r\n:0\r\n:0\r\n:0\r\n*1\r\n+@slow\r\n*0\r\n*0\r\n*0"
		docs    = "$7\r\nsummary\r\n$8\r\nAnswers.\r\n$5\r\ngroup\r\n$4\r\ntest\r\n$9\r\narguments\r\n*2\r\n"
		key     = "$4\r\nname\r\n$3\r\nkey\r\n$4\r\ntype\r\n$6\r\nstring\r\n"
		options = "$5\r\nflags\r\n*1\r\n+optional"
	)
	converse(t, resp.Config{Decisions: (&fakeDecider{}).decisions(), Decide: (&fakeDecider{}).decide}, [][2]string{
		{"COMMAND INFO ASK nosuch exec", "*3\r\n" + ask + "\r\n$-1\r\n" + exec},
		{"COMMAND DOCS ask nosuch", "*2\r\n$3\r\nask\r\n*6\r\n" + docs + "*4\r\n" + key + "*6\r\n" + key + options},
		{"COMMAND NOSUCH", "-ERR unknown subcommand 'NOSUCH'. Try COMMAND HELP."},
		{"COMMAND COUNT 1", "-ERR wrong number of arguments for 'command|count' command"},
	})
}

// TestRESP3Types checks which replies are maps, sets, nulls and verbatim strings in RESP3.
func TestRESP3Types(t *testing.T) {
	inBubble(t, resp.Config{Decisions: (&fakeDecider{}).decisions(), Decide: (&fakeDecider{}).decide}, func(t *testing.T, _ *resp.Server, l *listener) {
		client := l.dial()
		exchange(t, client, "HELLO 3\r\n")
		for _, c := range [][2]string{
			{"COMMAND DOCS ask", "%1\r\n$3\r\nask\r\n%3\r\n$7\r\nsummary\r\n"},
			{"COMMAND INFO ask", "*1\r\n*10\r\n$3\r\nask\r\n:-2\r\n~1\r\n+fast\r\n"},
			{"COMMAND INFO nosuch", "*1\r\n_\r\n"},
			{"CLIENT GETNAME", "_\r\n"},
			{"CLIENT INFO", "=111\r\ntxt:id=1 "},
			{"INFO cluster", "=34\r\ntxt:# Cluster\r\ncluster_enabled:0\r\n\r\n"},
		} {
			if got := exchange(t, client, c[0]+"\r\n"); !strings.HasPrefix(got, c[1]) {
				t.Errorf("%s: %q, want %q…", c[0], got, c[1])
			}
		}
	})
}

// TestCommandListsAgree checks that COMMAND, COUNT, INFO and DOCS list the same commands.
func TestCommandListsAgree(t *testing.T) {
	inBubble(t, resp.Config{Decisions: (&fakeDecider{}).decisions(), Decide: (&fakeDecider{}).decide}, func(t *testing.T, _ *resp.Server, l *listener) {
		client := l.dial()
		call := func(line string) resptest.Value {
			t.Helper()
			v, err := resptest.Read(bufio.NewReader(strings.NewReader(exchange(t, client, line+"\r\n"))))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			return v
		}
		all, docs := call("COMMAND").Items, call("COMMAND DOCS").Items
		if n := call("COMMAND COUNT").Int; n != int64(len(all)) || len(docs) != 2*len(all) || len(call("COMMAND INFO").Items) != len(all) {
			t.Fatalf("COMMAND COUNT %d, of COMMAND %d, of COMMAND DOCS %d", n, len(all), len(docs)/2)
		}
		for i, cmd := range all {
			if name := cmd.Items[0].Text; docs[2*i].Text != name {
				t.Errorf("COMMAND DOCS has %q where COMMAND has %q", docs[2*i].Text, name)
			}
		}
		for _, parent := range []string{"CLIENT", "COMMAND"} {
			subs := call("COMMAND INFO " + parent).Items[0].Items[9].Items
			if help := call(parent + " HELP").Items; len(subs) == 0 || len(help) != 1+2*len(subs) {
				t.Errorf("%s HELP has %d lines for %d subcommands", parent, len(help), len(subs))
			}
		}
	})
}

// TestInfoHasTheFieldsOfMonitors checks the values of the fields of INFO that monitors read, and the number of sections
// in its reply.
func TestInfoHasTheFieldsOfMonitors(t *testing.T) {
	inBubble(t, resp.Config{MaxConns: 1, Version: "1.2.3"}, func(t *testing.T, _ *resp.Server, l *listener) {
		client := l.dial()
		exchange(t, client, "PING\r\nPING\r\n")
		readToEnd(t, l.dial()) // exceeds MaxConns
		fields := map[string]string{}
		for line := range strings.SplitSeq(exchange(t, client, "INFO\r\n"), "\r\n") {
			name, value, _ := strings.Cut(line, ":")
			fields[name] = value
		}
		for name, want := range map[string]string{
			"redis_version": "7.2.0", "headgate_version": "1.2.3", "tcp_port": "0", "uptime_in_seconds": "0", "loading": "0", "role": "master",
			"connected_clients": "1", "maxclients": "1", "rejected_connections": "1", "total_connections_received": "2", "total_commands_processed": "2",
		} {
			if fields[name] != want {
				t.Errorf("%s is %q, want %q", name, fields[name], want)
			}
		}
		headings := func(sections string) (n int) {
			return strings.Count(exchange(t, client, "INFO "+sections+"\r\n"), "# ")
		}
		for sections, want := range map[string]int{"server": 1, "Server CLIENTS": 2, "nosuch": 0, "all": 6, "everything": 6, "nosuch default": 6} {
			if got := headings(sections); got != want {
				t.Errorf("INFO %s has %s sections, want %d", sections, strconv.Itoa(got), want)
			}
		}
	})
}
