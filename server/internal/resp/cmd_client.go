package resp

import (
	"context"
	"strings"

	"github.com/headgate/headgate/server/internal/resp/wire"
)

// clientCommand returns CLIENT with the subcommands with which client libraries begin a connection. Any other one, such as
// TRACKING, gets an error that names it, so that clients can continue without it.
func clientCommand() *command {
	return &command{Spec: Spec{Name: "client", Arity: -2}, subs: table{
		"getname": {Spec: Spec{Name: "client|getname", Arity: 2}, do: clientGetName},
		"id":      {Spec: Spec{Name: "client|id", Arity: 2}, do: clientID},
		"setinfo": {Spec: Spec{Name: "client|setinfo", Arity: 4}, do: clientSetInfo},
		"setname": {Spec: Spec{Name: "client|setname", Arity: 3}, do: clientSetName},
	}}
}

const msgClientName = "ERR Client names cannot contain spaces, newlines or special characters."

func clientSetName(_ context.Context, c *conn, words [][]byte) {
	if !isClientName(words[2]) {
		c.replyError(msgClientName)
		return
	}
	c.name = string(words[2])
	c.replyOK()
}

func clientGetName(_ context.Context, c *conn, _ [][]byte) {
	if c.name == "" {
		c.out = wire.AppendNull(c.out, c.proto)
		return
	}
	c.out = wire.AppendBulk(c.out, c.name)
}

func clientID(_ context.Context, c *conn, _ [][]byte) {
	c.out = wire.AppendInt(c.out, c.id)
}

// clientSetInfo accepts the client library's name and version, which nobody reads here.
func clientSetInfo(_ context.Context, c *conn, words [][]byte) {
	switch option := strings.ToLower(string(words[2])); {
	case option != "lib-name" && option != "lib-ver":
		c.replyError("ERR Unrecognized option '" + printable(words[2], maxShown) + "'")
	case !isClientName(words[3]):
		c.replyError("ERR " + option + " cannot contain spaces, newlines or special characters.")
	default:
		c.replyOK()
	}
}

// isClientName reports whether name is printable ASCII without spaces, as Redis demands.
func isClientName(name []byte) bool {
	for _, c := range name {
		if c < '!' || c > '~' {
			return false
		}
	}
	return true
}
