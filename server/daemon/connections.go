package daemon

import (
	"cmp"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/headgate/headgate/server/internal/lograte"
	"github.com/headgate/headgate/server/internal/peers"
)

const (
	// maxConns is the maximum number of connections per front end. Beyond it, RESP rejects connections with an error;
	// HTTP and gRPC leave them in the accept queue. One peer can take only a share of the connections.
	maxConns = 10_000
	// spareFiles is the number of open files reserved for everything else: the store, its snapshot, reloaded files,
	// and operators' calls.
	spareFiles = 256
	// manyFiles is the assumed limit on open files if the system does not report one.
	manyFiles = 1 << 20
)

// connections returns the largest number of connections for each front end, given the limit on open files. A flood on
// one front end can then not use up the open files of the others.
func connections(files uint64, frontEnds int) int {
	spare := min(spareFiles, files/4)
	return max(1, int(min(maxConns, (files-spare)/uint64(max(1, frontEnds)))))
}

// boundConnections sets the number of connections for each front end. A gateway needs a second connection, to an
// upstream, for each connection from a client.
func (d *Daemon) boundConnections() {
	c := &d.config
	frontEnds := 0
	for _, address := range []string{c.RESP, c.HTTP, c.GRPC.Address} {
		if address != Off && address != "" {
			frontEnds++
		}
	}
	if c.Gateway != nil {
		frontEnds++
	}
	files := openFiles()
	if d.conns = connections(files, frontEnds); d.conns < maxConns/2 {
		c.Logger.Warn("too few open files for all connections: raise ulimit -n, or LimitNOFILE of systemd",
			"connections", d.conns, "most", maxConns, "open_files", files)
	}
}

// peerRule returns the rule for the share of connections, requests and calls that one peer may take.
func (d *Daemon) peerRule() peers.Rule {
	return peers.Rule{
		Percent: cmp.Or(d.config.PeerShare, peers.DefaultPercent),
		Exempt:  func(peer netip.Addr) bool { return d.service.Proxies().Trusts(peer) },
	}
}

// bounded is a listener that bounds its connections, in total and per peer. While all connections are in use, further
// ones wait in the accept queue. Connections beyond a peer's share are closed. Both cases are logged.
type bounded struct {
	net.Listener

	conns  *peers.Conns
	most   int
	closed chan struct{}
	close  func() error
	logger *slog.Logger
	name   string // the front end's name, for the log
	lines  lograte.Limit
}

func bound(l net.Listener, name string, conns int, rule peers.Rule, logger *slog.Logger) *bounded {
	b := &bounded{Listener: l, conns: peers.NewConns(conns, rule), most: conns, closed: make(chan struct{}), logger: logger, name: name, lines: lograte.Limit{Lines: 1, Per: 10 * time.Second}}
	b.close = sync.OnceValue(func() error {
		close(b.closed)
		b.conns.Stop()
		return l.Close()
	})
	return b
}

// Accept implements [net.Listener].
func (b *bounded) Accept() (net.Conn, error) {
	for {
		if b.conns.Full() {
			b.lines.Warn(b.logger, b.name+": all connections are in use, and more are waiting", "connections", b.most)
			if !b.conns.Room(b.closed) {
				return nil, net.ErrClosed
			}
		}
		c, err := b.Listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				b.lines.Warn(b.logger, b.name+": accept failed", "error", err)
			}
			return nil, err
		}
		admitted, verdict := b.conns.Admit(c)
		if verdict == peers.Granted {
			return admitted, nil
		}
		b.lines.Warn(b.logger, b.name+": a peer has used its share of connections, and further ones are closed", "peer", c.RemoteAddr().String())
		_ = c.Close()
	}
}

// Close implements [net.Listener].
func (b *bounded) Close() error { return b.close() }
