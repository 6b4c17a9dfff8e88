package resp

import (
	"context"
	"slices"
	"strings"

	"github.com/headgate/headgate/server/internal/resp/wire"
)

// introspectionCommands returns INFO, and COMMAND, which describes the table of commands.
func introspectionCommands() []*command {
	return inGroup("server",
		&command{Spec: Spec{Name: "command", Arity: -1, Summary: "Describes all commands."}, do: commandAll},
		&command{Spec: Spec{Name: "command|count", Arity: 2, Summary: "Returns the number of commands."}, do: commandCount},
		&command{Spec: Spec{Name: "command|docs", Arity: -2, Syntax: "[command ...]", Summary: "Returns the documentation of commands."}, do: commandDocs},
		&command{Spec: Spec{Name: "command|help", Arity: 2, Summary: "Lists the subcommands."}, do: help},
		&command{Spec: Spec{Name: "command|info", Arity: -2, Syntax: "[command ...]", Summary: "Describes commands."}, do: commandInfo},
		&command{Spec: Spec{Name: "info", Arity: -1, Syntax: "[section ...]", Summary: "Returns facts about the server."}, do: info},
	)
}

func commandCount(_ context.Context, c *conn, _ [][]byte) {
	c.out = wire.AppendInt(c.out, int64(len(c.srv.commands)))
}

func commandAll(_ context.Context, c *conn, _ [][]byte) {
	c.out = wire.AppendArray(c.out, len(c.srv.sorted))
	for _, cmd := range c.srv.sorted {
		c.out = append(c.out, cmd.about[c.proto].info...)
	}
}

func commandInfo(ctx context.Context, c *conn, words [][]byte) {
	if len(words) == 2 {
		commandAll(ctx, c, words)
		return
	}
	c.out = wire.AppendArray(c.out, len(words)-2)
	for _, name := range words[2:] {
		if cmd := c.srv.commands.lookup(name); cmd != nil {
			c.out = append(c.out, cmd.about[c.proto].info...)
		} else {
			c.out = wire.AppendNull(c.out, c.proto)
		}
		c.flushIfLong() // a client can name one command a thousand times
	}
}

func commandDocs(_ context.Context, c *conn, words [][]byte) {
	commands := c.srv.sorted
	if len(words) > 2 {
		commands = nil
		for _, name := range words[2:] {
			if cmd := c.srv.commands.lookup(name); cmd != nil {
				commands = append(commands, cmd)
			}
		}
	}
	c.out = wire.AppendMap(c.out, c.proto, len(commands))
	for _, cmd := range commands {
		c.out = append(c.out, cmd.about[c.proto].docs...)
		c.flushIfLong()
	}
}

// about describes a command in replies to COMMAND. It is built in advance, because processing a byte of a command
// must be cheap (regression: bug 69).
type about struct {
	info []byte // an element of COMMAND INFO
	docs []byte // the name and its value in COMMAND DOCS
}

// describe fills in each command's description, and returns the commands sorted by name.
func (t table) describe() []*command {
	all := t.sorted()
	for _, cmd := range all {
		subs := cmd.subs.describe()
		for _, p := range []wire.Proto{wire.RESP2, wire.RESP3} {
			cmd.about[p] = about{appendCommand(nil, p, cmd, subs), appendDoc(wire.AppendBulk(nil, cmd.Name), p, cmd, subs)}
		}
	}
	return all
}

// appendCommand appends the ten fields that describe a command in Redis 7.
func appendCommand(b []byte, p wire.Proto, cmd *command, subs []*command) []byte {
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
	b = wire.AppendSet(b, p, 0) // tips
	b = wire.AppendSet(b, p, 0) // key specifications beyond the three numbers
	b = wire.AppendArray(b, len(subs))
	for _, sub := range subs {
		b = append(b, sub.about[p].info...)
	}
	return b
}

// appendDoc appends the documentation of a command: the Redis 7 fields that redis-cli shows.
func appendDoc(b []byte, p wire.Proto, cmd *command, subs []*command) []byte {
	args := strings.Fields(cmd.Syntax)
	fields := 2
	if len(args) > 0 {
		fields++
	}
	if len(subs) > 0 {
		fields++
	}
	b = wire.AppendMap(b, p, fields)
	b = wire.AppendBulk(wire.AppendBulk(b, "summary"), cmd.Summary)
	b = wire.AppendBulk(wire.AppendBulk(b, "group"), cmd.Group)
	if len(args) > 0 {
		b = appendArguments(wire.AppendBulk(b, "arguments"), p, args)
	}
	if len(subs) > 0 {
		b = wire.AppendMap(wire.AppendBulk(b, "subcommands"), p, len(subs))
		for _, sub := range subs {
			b = append(b, sub.about[p].docs...)
		}
	}
	return b
}
