package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// newHTTP returns the HTTP server with its bounds.
func newHTTP(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
}

// listenOn listens on the address that a flag gives. The error names the flag. Only gRPC can use a Unix socket: over
// HTTP each caller would be a trusted proxy.
func listenOn(flag, address string) (net.Listener, error) {
	network, path, accepted := "tcp", address, "host:port, or off"
	if flag == "grpc" {
		accepted = "host:port, unix:/path, or off"
		if socket, ok := strings.CutPrefix(address, "unix:"); ok {
			network, path = "unix", socket
		}
	}
	l, err := net.Listen(network, path)
	switch {
	case isMalformed(err):
		return nil, fmt.Errorf("--%s %s: %w; accepted: %s", flag, address, err, accepted)
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("--%s %s: %w; accepted: an address that no other program listens on", flag, address, err)
	case err != nil:
		return nil, fmt.Errorf("--%s %s: %w", flag, address, err)
	}
	return l, nil
}

// isMalformed reports whether an address is in the wrong form, such as 8080.
func isMalformed(err error) bool {
	_, form := errors.AsType[*net.AddrError](err)
	_, port := errors.AsType[*net.DNSError](err)
	return form || port
}

// ofFlag adds a flag's name to the error of its file if the file cannot be opened. Other errors name the file and the
// place in it.
func ofFlag(flag string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return err
}

// listen opens the listeners.
func (d *Daemon) listen() (err error) {
	if d.config.RESP == Off && d.config.HTTP == Off && (d.config.GRPC.Address == Off || d.config.GRPC.Address == "") {
		return errors.New("resp and http are both off; at least one must listen")
	}
	if d.config.RESP != Off {
		if d.respListener, err = listenOn("resp", d.config.RESP); err != nil {
			return err
		}
	}
	if d.config.HTTP != Off {
		if d.httpListener, err = listenOn("http", d.config.HTTP); err != nil {
			return err
		}
		d.httpListener = d.listenGateway(bound(d.httpListener, "http", d.conns, d.peerRule(), d.config.Logger))
	}
	return nil
}

func (d *Daemon) closeListeners() {
	for _, l := range []net.Listener{d.respListener, d.httpListener} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// RESPAddr returns the RESP listen address. It returns nil if there is no listener.
func (d *Daemon) RESPAddr() net.Addr { return addr(d.respListener) }

// HTTPAddr returns the HTTP listen address. It returns nil if there is no listener.
func (d *Daemon) HTTPAddr() net.Addr { return addr(d.httpListener) }

func addr(l net.Listener) net.Addr {
	if l == nil {
		return nil
	}
	return l.Addr()
}

// address returns a listener's address for the log.
func address(l net.Listener) string {
	if l == nil {
		return Off
	}
	return l.Addr().String()
}
