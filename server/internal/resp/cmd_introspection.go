package resp

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/headgate/headgate/server/internal/resp/wire"
)

// introspectionCommands returns the two commands with which clients look at the server when they connect: INFO, and
// COMMAND, which also gives redis-cli its hints. Both replies are built in advance, because processing a byte of a
// command must be cheap (regression: bug 69).
func introspectionCommands() []*command {
	return []*command{
		{Spec: Spec{Name: "command", Arity: 1}, do: func(_ context.Context, c *conn, _ [][]byte) { c.out = append(c.out, c.srv.described[c.proto]...) }},
		{Spec: Spec{Name: "info", Arity: -1}, do: func(_ context.Context, c *conn, _ [][]byte) { c.out = wire.AppendVerbatim(c.out, c.proto, c.srv.info) }},
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

// describe returns the reply to COMMAND in a version of the protocol.
func (t table) describe(p wire.Proto) []byte {
	b := wire.AppendArray(nil, len(t))
	for _, name := range slices.Sorted(maps.Keys(t)) {
		b = appendCommand(b, p, t[name])
	}
	return b
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
