package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate/headgate/server/internal/resp/resptest"
)

// command encodes one command.
func command(words ...string) string { return string(resptest.AppendCommand(nil, words...)) }

// keyFlood takes units from new keys until the store denies them because it is full.
func keyFlood(t *testing.T, address string) {
	t.Helper()
	var all strings.Builder
	for i := range 3000 {
		all.WriteString(command("CL.THROTTLE", fmt.Sprint("new-", i), "15", "30", "100000"))
	}
	const noRoom = ":1\r\n:16\r\n:16\r\n:1\r\n:0\r\n" // denied, although all units are left
	if got := exchangeRaw(t, address, all.String(), noRoom); !strings.Contains(got, noRoom) {
		t.Errorf("answered %.200q", got)
	}
}

func hostileRESP() []hostileCase {
	cases := []hostileCase{
		{name: "huge bulk", send: "*1\r\n$999999999999\r\n", want: "invalid bulk length"},
		{name: "huge array", send: "*1000000000\r\n", want: "invalid multibulk length"},
		{name: "negative array", send: "*-7\r\n", want: "invalid multibulk length"},
		{name: "negative bulk", send: "*1\r\n$-7\r\n", want: "invalid bulk length"},
		{name: "nested arrays", send: strings.Repeat("*1\r\n", 10_000), want: "expected '$'"},
		{name: "letters for a length", send: "*1\r\n$ab\r\n", want: "invalid bulk length"},
		{name: "no end of a bulk", send: "*1\r\n$4\r\nPINGPING\r\n", want: "expected CRLF"},
		{name: "endless line", send: strings.Repeat("x", 1<<20), want: "too big inline request"},
		{name: "zero bytes", send: strings.Repeat("\x00", 4096) + "\r\n", want: "-ERR"},
		{name: "half a command", send: "*3\r\n$11\r\nCL.THRO"},
		{name: "a byte at a time", do: dripping(command("CL.THROTTLE", "slow", "15", "30", "60")[:40])},
		{name: "never reads", do: unread(command("CL.THROTTLE", "k", "15", "30", "60"), 500)},
		{name: "connections", do: flood(500, "")},
		{name: "connections with half commands", do: flood(200, "*3\r\n$11\r\n")},
		{name: "an HTTP request", send: "POST / HTTP/1.1\r\nHost: a\r\n\r\nFLUSHALL\r\n"},
		{name: "a transaction without end", send: "MULTI\r\n" + strings.Repeat("PING\r\n", 20_000)},
		{name: "a transaction, then nothing", send: "MULTI\r\n" + command("CL.THROTTLE", "victim", "15", "30", "60")},
	}
	for _, c := range []struct{ name, want, words string }{
		{"flushall", "unknown command", "FLUSHALL"},
		{"flushdb", "unknown command", "FLUSHDB"},
		{"eval", "this server runs no Lua", "EVAL return(1) 0"},
		{"config set", "-ERR", "CONFIG SET maxmemory 1"},
		{"shutdown", "unknown command", "SHUTDOWN NOSAVE"},
		{"debug", "unknown command", "DEBUG SEGFAULT"},
		{"keys", "unknown command", "KEYS *"},
		{"rename", "unknown command", "RENAME victim other"},
		{"expire", "unknown command", "EXPIRE victim 0"},
		{"set", "unknown command", "SET victim 0"},
		{"replicaof", "unknown command", "REPLICAOF 127.0.0.1 1"},
		{"subscribe", "unknown command", "SUBSCRIBE *"},
		{"hello 9", "NOPROTO", "HELLO 9"},
		{"auth", "-WRONGPASS", "AUTH user wrong"},
		{"del", "writes by clients are off", "DEL victim"},
		{"reset", "writes by clients are off", "HEADGATE.RESET api victim"},
		{"give", "writes by clients are off", "HEADGATE.GIVE api victim 5"},
		{"negative cost", "-ERR", "HEADGATE.ALLOW api victim -5"},
		{"cost beyond 64 bits", "-ERR", "HEADGATE.ALLOW api victim 99999999999999999999"},
		{"cost with a point", "-ERR", "HEADGATE.ALLOW api victim 1e3"},
		{"no such policy", "no policy", "HEADGATE.ALLOW nothing victim"},
		{"a name of another space", "-ERR", "HEADGATE.ALLOW api:shadow victim"},
		{"another limit of the key", ":0", "CL.THROTTLE victim 1000000 1000000 1"},
		{"a burst beyond 64 bits", "-ERR", "CL.THROTTLE victim 99999999999999999999 1 1"},
		{"a negative period", "-ERR", "CL.THROTTLE victim 15 30 -60"},
		{"no period", "-ERR", "CL.THROTTLE victim 15 30 0"},
		{"too few words", "wrong number of arguments", "CL.THROTTLE victim"},
		{"too many words", "-ERR", "CL.THROTTLE victim 1 2 3 4 5 6 7 8"},
		{"a forged reservation", "-ERR", "HEADGATE.CANCEL victim forged"},
		{"a permit of somebody else", "-WRONGVERB", "HEADGATE.RELEASE api victim other"},
	} {
		cases = append(cases, hostileCase{name: c.name, send: command(strings.Fields(c.words)...), want: c.want})
	}
	for _, c := range []struct{ name, key, want string }{
		{"an empty key", "", "-ERR"},
		{"a key of a megabyte", strings.Repeat("k", 1<<20), "-ERR"},
		{"a key with a command in it", "k\r\n*1\r\n$8\r\nFLUSHALL\r\n", ":0"},
		{"a key with a space and a null", "a b\x00c", ":0"},
		{"a key with braces", "}{victim}", ":0"},
		{"a key that is no text", "\xff\xfe\xfd", ":0"},
	} {
		cases = append(cases, hostileCase{name: c.name, send: command("CL.THROTTLE", c.key, "15", "30", "60"), want: c.want})
	}
	cases = append(cases, hostileCase{name: "new keys", do: keyFlood}) // must be last, because it fills the store
	for i := range cases {
		cases[i].to = "resp"
	}
	return cases
}
