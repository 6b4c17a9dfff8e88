package resp

import (
	"context"
	"strconv"
	"strings"

	"github.com/headgate/headgate/server/internal/resp/wire"
	"github.com/headgate/headgate/server/internal/users"
)

// connectionCommands returns the commands that concern the connection itself.
func connectionCommands() []*command {
	fast := []string{"fast"}
	return []*command{
		{Spec: Spec{Name: "ping", Arity: -1, Flags: fast}, do: ping},
		{Spec: Spec{Name: "echo", Arity: 2, Flags: fast}, do: echo},
		{Spec: Spec{Name: "quit", Arity: -1, Flags: fast}, do: quit, immediate: true, open: true},
		{Spec: Spec{Name: "reset", Arity: 1, Flags: fast}, do: reset, immediate: true, open: true},
		{Spec: Spec{Name: "select", Arity: 2, Flags: fast}, do: selectDB},
		{Spec: Spec{Name: "auth", Arity: -2, Flags: fast}, do: auth, open: true},
		{Spec: Spec{Name: "hello", Arity: -1, Flags: fast}, do: hello, open: true},
	}
}

// Error replies are worded as in Redis, because clients compare them.
const (
	msgNoPassword  = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"
	msgWrongPass   = "WRONGPASS invalid username-password pair or user is disabled."
	msgNoAuth      = "NOAUTH Authentication required."
	msgHelloNoAuth = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
	msgSyntax      = "ERR syntax error"
	msgNotInteger  = "ERR value is not an integer or out of range"
)

func ping(_ context.Context, c *conn, words [][]byte) {
	switch len(words) {
	case 1:
		c.replySimple("PONG")
	case 2:
		c.out = wire.AppendBulk(c.out, words[1])
	default:
		c.replyError("ERR wrong number of arguments for 'ping' command")
	}
}

func echo(_ context.Context, c *conn, words [][]byte) {
	c.out = wire.AppendBulk(c.out, words[1])
}

func quit(_ context.Context, c *conn, _ [][]byte) {
	c.replyOK()
	c.closing = true
}

// reset resets the client's settings.
func reset(_ context.Context, c *conn, _ [][]byte) {
	c.tx.end()
	c.proto = wire.RESP2
	c.name = ""
	c.user = nil
	c.replySimple("RESET")
}

func selectDB(_ context.Context, c *conn, words [][]byte) {
	db, err := strconv.ParseInt(string(words[1]), 10, 32)
	switch {
	case err != nil:
		c.replyError(msgNotInteger)
	case db != 0:
		c.replyError("ERR DB index is out of range")
	default:
		c.replyOK()
	}
}

// auth authenticates the client. On a server without users, the only user is default, without a password. If the
// command names this user, any password is accepted. If it names no user, the reply is an error, as in Redis.
func auth(_ context.Context, c *conn, words [][]byte) {
	name := users.Default
	if len(words) == 3 {
		name = string(words[1])
	}
	switch {
	case len(words) == 2 && c.srv.cfg.Users == nil:
		c.replyError(msgNoPassword)
	case len(words) > 3:
		c.replyError(msgSyntax)
	default:
		user, ok := c.authenticate(name, words[len(words)-1])
		if !ok {
			c.replyError(msgWrongPass)
			return
		}
		c.user = user
		c.replyOK()
	}
}

// authenticate returns the user with the given name and password. On a server without users, u is nil, and ok is true
// for the name default.
func (c *conn) authenticate(name string, password []byte) (u *users.User, ok bool) {
	f := c.srv.cfg.Users
	if f == nil {
		return nil, name == users.Default
	}
	if u = f.Named(name, string(password)); u != nil {
		c.wrong = 0
		return u, true
	}
	if c.srv.cfg.WrongSecret != nil {
		c.srv.cfg.WrongSecret(c.nc.RemoteAddr().String())
	}
	if c.wrong++; c.wrong == maxWrongSecrets {
		c.closing = true // one connection could try a million secrets a second (bug 102)
	}
	return nil, false
}

// maxWrongSecrets is the number of wrong secrets after which a connection is closed.
const maxWrongSecrets = 10

// hello changes the protocol version if all its options are valid.
func hello(_ context.Context, c *conn, words [][]byte) {
	proto, name, user := c.proto, c.name, c.user
	if len(words) > 1 {
		version, err := strconv.ParseInt(string(words[1]), 10, 64)
		switch {
		case err != nil:
			c.replyError("ERR Protocol version is not an integer or out of range")
			return
		case version < 2 || version > 3:
			c.replyError("NOPROTO unsupported protocol version")
			return
		}
		proto = wire.Proto(version)
		var errorReply string
		if name, user, errorReply = c.helloOptions(words[2:]); errorReply != "" {
			c.replyError(errorReply)
			return
		}
	}
	if f := c.srv.cfg.Users; f != nil && f.Current(user) == nil {
		c.replyError(msgHelloNoAuth)
		return
	}
	c.proto, c.name, c.user = proto, name, user
	c.out = appendHello(c.out, c.proto, c.id)
}

// helloOptions returns the client's name and user according to the options of HELLO, or an error reply. A name or user
// that the options do not set stays unchanged.
func (c *conn) helloOptions(words [][]byte) (name string, user *users.User, errorReply string) {
	name, user = c.name, c.user
	for len(words) > 0 {
		switch option := strings.ToLower(string(words[0])); {
		case option == "auth" && len(words) >= 3:
			var ok bool
			if user, ok = c.authenticate(string(words[1]), words[2]); !ok {
				return "", nil, msgWrongPass
			}
			words = words[3:]
		case option == "setname" && len(words) >= 2:
			if !isClientName(words[1]) {
				return "", nil, msgClientName
			}
			name = string(words[1])
			words = words[2:]
		default:
			return "", nil, "ERR Syntax error in HELLO option '" + printable(words[0], maxShown) + "'"
		}
	}
	return name, user, ""
}

func appendHello(b []byte, p wire.Proto, id int64) []byte {
	b = wire.AppendMap(b, p, 7)
	b = wire.AppendBulk(wire.AppendBulk(b, "server"), "redis")
	b = wire.AppendBulk(wire.AppendBulk(b, "version"), redisVersion)
	b = wire.AppendInt(wire.AppendBulk(b, "proto"), int64(p))
	b = wire.AppendInt(wire.AppendBulk(b, "id"), id)
	b = wire.AppendBulk(wire.AppendBulk(b, "mode"), "standalone")
	b = wire.AppendBulk(wire.AppendBulk(b, "role"), "master")
	return wire.AppendArray(wire.AppendBulk(b, "modules"), 0)
}
