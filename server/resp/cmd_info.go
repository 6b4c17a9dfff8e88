package resp

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate/server/resp/wire"
)

// redisVersion is the Redis release whose connection commands the server has. Clients
// choose their commands by it: CLIENT SETINFO came with it.
const redisVersion = "7.2.0"

// infoSections are the sections of INFO in order. They have the fields that clients and
// monitors read: "loading:0" means ready.
var infoSections = []struct {
	name  string
	write func(w *bytes.Buffer, c *conn)
}{
	{"Server", func(w *bytes.Buffer, c *conn) {
		up := time.Since(c.srv.began)
		fmt.Fprintf(w, "redis_version:%s\r\nredis_mode:standalone\r\nheadgate_version:%s\r\n", redisVersion, c.srv.cfg.Version)
		fmt.Fprintf(w, "os:%s %s\r\narch_bits:%d\r\ngo_version:%s\r\n", runtime.GOOS, runtime.GOARCH, 32<<(^uint(0)>>63), runtime.Version())
		fmt.Fprintf(w, "process_id:%d\r\ntcp_port:%s\r\n", os.Getpid(), localPort(c.nc))
		fmt.Fprintf(w, "uptime_in_seconds:%d\r\nuptime_in_days:%d\r\n", up/time.Second, up/(24*time.Hour))
	}},
	{"Clients", func(w *bytes.Buffer, c *conn) {
		fmt.Fprintf(w, "connected_clients:%d\r\nmaxclients:%d\r\n", c.srv.connected(), c.srv.cfg.MaxConns)
	}},
	{"Persistence", func(w *bytes.Buffer, c *conn) {
		fmt.Fprintf(w, "loading:0\r\n")
	}},
	{"Stats", func(w *bytes.Buffer, c *conn) {
		fmt.Fprintf(w, "total_connections_received:%d\r\n", c.srv.accepted.Load()+c.srv.rejected.Load())
		fmt.Fprintf(w, "total_commands_processed:%d\r\n", c.srv.answered.Load())
		fmt.Fprintf(w, "rejected_connections:%d\r\n", c.srv.rejected.Load())
	}},
	{"Replication", func(w *bytes.Buffer, c *conn) {
		fmt.Fprintf(w, "role:master\r\nconnected_slaves:0\r\n")
	}},
	{"Cluster", func(w *bytes.Buffer, c *conn) {
		fmt.Fprintf(w, "cluster_enabled:0\r\n")
	}},
}

// info returns the named sections, or all.
func info(_ context.Context, c *conn, words [][]byte) {
	var wanted []string
	for _, word := range words[1:] {
		wanted = append(wanted, strings.ToLower(string(word)))
	}
	all := len(wanted) == 0 || slices.Contains(wanted, "all") ||
		slices.Contains(wanted, "default") || slices.Contains(wanted, "everything")
	var text bytes.Buffer
	for _, section := range infoSections {
		if !all && !slices.Contains(wanted, strings.ToLower(section.name)) {
			continue
		}
		if text.Len() > 0 {
			text.WriteString("\r\n")
		}
		fmt.Fprintf(&text, "# %s\r\n", section.name)
		section.write(&text, c)
	}
	c.out = wire.AppendVerbatim(c.out, c.proto, text.String())
}

// localPort returns the port that the client connected to; "0" on a Unix socket.
func localPort(nc net.Conn) string {
	if _, port, err := net.SplitHostPort(nc.LocalAddr().String()); err == nil {
		return port
	}
	return "0"
}
