package resp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/headgate/headgate/server/internal/resp/wire"
)

// clientCommands returns CLIENT and its subcommands. An unknown subcommand, such as TRACKING, gets an error that
// names it, so that clients can continue without it.
func clientCommands() []*command {
	return inGroup("connection",
		&command{Spec: Spec{Name: "client", Arity: -2, Summary: "Commands on this connection as a client."}},
		&command{Spec: Spec{Name: "client|getname", Arity: 2, Summary: "Returns the connection's name."}, do: clientGetName},
		&command{Spec: Spec{Name: "client|help", Arity: 2, Summary: "Lists the subcommands."}, do: help},
		&command{Spec: Spec{Name: "client|id", Arity: 2, Summary: "Returns the connection's number."}, do: clientID},
		&command{Spec: Spec{Name: "client|info", Arity: 2, Summary: "Describes the connection."}, do: clientInfo},
		&command{Spec: Spec{Name: "client|setinfo", Arity: 4, Syntax: "LIB-NAME|LIB-VER value", Summary: "Sets the client library's name or version."}, do: clientSetInfo},
		&command{Spec: Spec{Name: "client|setname", Arity: 3, Syntax: "name", Summary: "Sets the connection's name."}, do: clientSetName},
	)
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

func clientSetInfo(_ context.Context, c *conn, words [][]byte) {
	option := strings.ToLower(string(words[2]))
	switch {
	case option != "lib-name" && option != "lib-ver":
		c.replyError("ERR Unrecognized option '" + printable(words[2], maxShown) + "'")
		return
	case !isClientName(words[3]):
		c.replyError("ERR " + option + " cannot contain spaces, newlines or special characters.")
		return
	case option == "lib-name":
		c.libName = string(words[3])
	default:
		c.libVersion = string(words[3])
	}
	c.replyOK()
}

// clientInfo replies with a line of fields as Redis does, limited to those that are meaningful here. multi is -1 because
// no transaction is open when the command is executed.
func clientInfo(_ context.Context, c *conn, _ [][]byte) {
	line := fmt.Sprintf("id=%d addr=%s laddr=%s name=%s age=%d db=0 multi=-1 cmd=client|info user=default lib-name=%s lib-ver=%s resp=%d\n",
		c.id, c.nc.RemoteAddr(), c.nc.LocalAddr(), c.name, time.Since(c.began)/time.Second, c.libName, c.libVersion, c.proto)
	c.out = wire.AppendVerbatim(c.out, c.proto, line)
}

// isClientName reports whether name is printable ASCII without spaces, so that it can be a field of CLIENT INFO.
func isClientName(name []byte) bool {
	for _, c := range name {
		if c < '!' || c > '~' {
			return false
		}
	}
	return true
}

// help lists the subcommands of the command in words[0].
func help(_ context.Context, c *conn, words [][]byte) {
	parent := c.srv.commands.lookup(words[0])
	subs := parent.subs.sorted()
	c.out = wire.AppendArray(c.out, 1+2*len(subs))
	c.replySimple(strings.ToUpper(parent.Name) + " <subcommand> [<arg> ...]. Subcommands are:")
	for _, sub := range subs {
		_, name, _ := strings.Cut(sub.Name, "|")
		c.replySimple(strings.TrimSpace(strings.ToUpper(name) + " " + sub.Syntax))
		c.replySimple("    " + sub.Summary)
	}
}
