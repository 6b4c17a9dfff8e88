package resp

import (
	"context"
	"fmt"
	"slices"

	"github.com/headgate/headgate/server/internal/resp/wire"
)

// introspectionCommands returns the two commands with which clients look at the server when they connect: INFO, and
// COMMAND, which also gives redis-cli its hints.
func introspectionCommands() []*command {
	return []*command{
		{Spec: Spec{Name: "command", Arity: -1}, do: commandInfo, subs: table{
			"count": {Spec: Spec{Name: "command|count", Arity: 2}, do: commandCount},
			"docs":  {Spec: Spec{Name: "command|docs", Arity: -2}, do: commandDocs},
			"info":  {Spec: Spec{Name: "command|info", Arity: -2}, do: commandInfo},
		}},
		{Spec: Spec{Name: "info", Arity: -1}, do: func(_ context.Context, c *conn, _ [][]byte) { c.out = wire.AppendVerbatim(c.out, c.proto, c.srv.info) }},
	}
}

func commandCount(_ context.Context, c *conn, _ [][]byte) {
	c.out = wire.AppendInt(c.out, int64(len(c.srv.commands)))
}

// commandInfo describes all commands, or those that the words name.
func commandInfo(_ context.Context, c *conn, words [][]byte) {
	if len(words) <= 2 {
		c.out = append(c.out, c.srv.described[c.proto].all...)
		return
	}
	c.out = wire.AppendArray(c.out, len(words)-2)
	for _, name := range words[2:] {
		if cmd := c.srv.commands.lookup(name); cmd != nil {
			c.out = append(c.out, c.srv.described[c.proto].of[cmd]...)
		} else {
			c.out = wire.AppendNull(c.out, c.proto)
		}
		c.flushIfLong() // a client can name one command a thousand times
	}
}

// commandDocs names all commands, or those of the words that are commands.
func commandDocs(_ context.Context, c *conn, words [][]byte) {
	names := c.srv.names
	if len(words) > 2 {
		names = nil
		for _, name := range words[2:] {
			if cmd := c.srv.commands.lookup(name); cmd != nil {
				names = append(names, cmd.Name)
			}
		}
	}
	c.out = wire.AppendMap(c.out, c.proto, len(names))
	for _, name := range names {
		c.out = wire.AppendMap(wire.AppendBulk(c.out, name), c.proto, 1)
		c.out = wire.AppendBulk(wire.AppendBulk(c.out, "summary"), "docs/reference/resp.md describes it.")
		c.flushIfLong()
	}
}

// redisVersion is the Redis release whose connection commands the server implements. Clients use it to choose
// commands, such as CLIENT SETINFO, which was added in that release.
const redisVersion = "7.2.0"

// infoText returns the fields of INFO that clients read, whichever sections they ask for. "loading:0" means that the
// server is ready.
func infoText(version string) string {
	return fmt.Sprintf("# Server\r\nredis_version:%s\r\nredis_mode:standalone\r\nheadgate_version:%s\r\n\r\n# Persistence\r\nloading:0\r\n\r\n"+
		"# Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n# Cluster\r\ncluster_enabled:0\r\n", redisVersion, version)
}

// descriptions are the replies to COMMAND in a version of the protocol. They are built in advance, because processing a
// byte of a command must be cheap (regression: bug 69).
type descriptions struct {
	all []byte
	of  map[*command][]byte
}

// describe describes the commands with these names, in their order.
func (t table) describe(names []string, p wire.Proto) descriptions {
	d := descriptions{all: wire.AppendArray(nil, len(names)), of: map[*command][]byte{}}
	for _, name := range names {
		d.of[t[name]] = appendCommand(nil, p, t[name])
		d.all = append(d.all, d.of[t[name]]...)
	}
	return d
}

// appendCommand appends the ten fields that describe a command in Redis 7.
func appendCommand(b []byte, p wire.Proto, cmd *command) []byte {
	b = wire.AppendArray(b, 10)
	b = wire.AppendBulk(b, cmd.Name)
	b = wire.AppendInt(b, int64(cmd.Arity))
	b = wire.AppendSet(b, p, len(cmd.Flags))
	for _, flag := range cmd.Flags {
		b = wire.AppendSimple(b, flag)
	}
	for _, n := range []int{cmd.FirstKey, cmd.LastKey, cmd.KeyStep} {
		b = wire.AppendInt(b, int64(n))
	}
	b = wire.AppendSet(b, p, 1) // ACL categories
	if slices.Contains(cmd.Flags, "fast") {
		b = wire.AppendSimple(b, "@fast")
	} else {
		b = wire.AppendSimple(b, "@slow")
	}
	b = wire.AppendSet(b, p, 0)   // tips
	b = wire.AppendSet(b, p, 0)   // key specifications beyond the three numbers
	return wire.AppendArray(b, 0) // subcommands
}
