package resp

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/headgate/headgate/server/internal/resp/wire"
)

// redisVersion is the Redis release whose connection commands the server implements. Clients use it to choose
// commands, such as CLIENT SETINFO, which was added in that release.
const redisVersion = "7.2.0"

// infoSections lists the sections of INFO in order. They contain the fields that clients and monitors read.
// "loading:0" means that the server is ready.
var infoSections = []struct {
	name   string
	append func(b []byte, c *conn) []byte
}{
	{"Server", func(b []byte, c *conn) []byte {
		up := time.Since(c.srv.began)
		b = append(b, infoBuild...)
		b = appendField(b, "headgate_version", c.srv.cfg.Version)
		b = appendCount(b, "process_id", int64(os.Getpid()))
		b = appendCount(b, "tcp_port", localPort(c.nc))
		b = appendCount(b, "uptime_in_seconds", int64(up/time.Second))
		return appendCount(b, "uptime_in_days", int64(up/(24*time.Hour)))
	}},
	{"Clients", func(b []byte, c *conn) []byte {
		b = appendCount(b, "connected_clients", int64(c.srv.connected()))
		return appendCount(b, "maxclients", int64(c.srv.cfg.MaxConns))
	}},
	{"Persistence", func(b []byte, _ *conn) []byte { return appendCount(b, "loading", 0) }},
	{"Stats", func(b []byte, c *conn) []byte {
		b = appendCount(b, "total_connections_received", c.srv.accepted.Load()+c.srv.rejected.Load())
		b = appendCount(b, "total_commands_processed", c.srv.answered.Load())
		return appendCount(b, "rejected_connections", c.srv.rejected.Load())
	}},
	{"Replication", func(b []byte, _ *conn) []byte {
		return appendCount(appendField(b, "role", "master"), "connected_slaves", 0)
	}},
	{"Cluster", func(b []byte, _ *conn) []byte { return appendCount(b, "cluster_enabled", 0) }},
}

// infoBuild contains the constant fields of the section Server.
var infoBuild = fmt.Sprintf("redis_version:%s\r\nredis_mode:standalone\r\nos:%s %s\r\narch_bits:%d\r\ngo_version:%s\r\n",
	redisVersion, runtime.GOOS, runtime.GOARCH, 32<<(^uint(0)>>63), runtime.Version())

func appendField(b []byte, name, value string) []byte {
	b = append(append(b, name...), ':')
	return append(append(b, value...), "\r\n"...)
}

func appendCount(b []byte, name string, n int64) []byte {
	b = append(append(b, name...), ':')
	return append(strconv.AppendInt(b, n, 10), "\r\n"...)
}

// infoPool reuses the buffers for answers. Without it, an INFO command of only 6 bytes would allocate a buffer for
// the whole answer, so a client could cause expensive work with little input (regression: bug 69).
var infoPool = sync.Pool{New: func() any { return new([]byte) }}

// info replies with the named sections. If the command names none, or names all, default or everything, it replies with
// all sections.
func info(_ context.Context, c *conn, words [][]byte) {
	var wanted []string
	for _, word := range words[1:] {
		wanted = append(wanted, strings.ToLower(string(word)))
	}
	all := len(wanted) == 0 || slices.Contains(wanted, "all") ||
		slices.Contains(wanted, "default") || slices.Contains(wanted, "everything")
	pooled := infoPool.Get().(*[]byte)
	defer infoPool.Put(pooled)
	text := (*pooled)[:0]
	for _, section := range infoSections {
		if !all && !slices.ContainsFunc(wanted, func(name string) bool { return strings.EqualFold(name, section.name) }) {
			continue
		}
		if len(text) > 0 {
			text = append(text, "\r\n"...)
		}
		text = append(append(append(text, "# "...), section.name...), "\r\n"...)
		text = section.append(text, c)
	}
	c.out = wire.AppendVerbatim(c.out, c.proto, text)
	*pooled = text
}

// localPort returns the port to which the client connected. It returns 0 for a Unix socket.
func localPort(nc net.Conn) int64 {
	if tcp, ok := nc.LocalAddr().(*net.TCPAddr); ok {
		return int64(tcp.Port)
	}
	return 0
}
