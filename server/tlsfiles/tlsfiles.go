// Package tlsfiles serves TLS with certificates from files. Files that change are read
// again, so that a certificate is renewed without a restart.
package tlsfiles

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/headgate/headgate/internal/files"
	"github.com/headgate/headgate/policy"
)

// maxAge is how long files are believed to be unchanged after they were looked at. Tests
// set it to 0.
var maxAge = time.Second

// maxFile is the size of the largest certificate with its chain, or key.
const maxFile = 4 << 20

// certificates is what the files had when they were read.
type certificates struct {
	names     policy.TLSFiles
	protocols []string
	logger    *slog.Logger

	mu      sync.Mutex
	config  *tls.Config
	seen    [3]stamp
	checked time.Time
	failed  string // the last error that was logged
}

// stamp says when a file was changed, and how long it is.
type stamp struct {
	changed time.Time
	size    int64
}

// Listen returns a listener with TLS 1.2 or newer over another one. protocols are those of
// ALPN that the server speaks, such as h2. Files that become unreadable are logged as an
// error, and the certificates that were read last stay in use.
func Listen(l net.Listener, names policy.TLSFiles, protocols []string, logger *slog.Logger) (net.Listener, error) {
	c := &certificates{names: names, protocols: protocols, logger: logger}
	if err := c.names.Check(); err != nil {
		return nil, err
	}
	c.look()
	if err := c.read(); err != nil {
		return nil, err
	}
	return tls.NewListener(l, &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current(), nil },
	}), nil
}

// current returns the configuration by the files as they are now.
func (c *certificates) current() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) >= maxAge && c.look() {
		c.readAgain()
	}
	return c.config
}

// readAgain takes what the files have now, if that can be read.
func (c *certificates) readAgain() {
	err := c.read()
	if err == nil {
		c.failed = ""
		c.logger.Info("the files for TLS were read again", "cert", c.names.Cert)
		return
	}
	c.seen = [3]stamp{} // look again, also if the files do not change: a right may be missing
	if err.Error() != c.failed {
		c.failed = err.Error()
		c.logger.Error("the files for TLS cannot be read; the certificates read last stay in use", "error", err)
	}
}

// look reports whether a file has changed since the last look.
func (c *certificates) look() (changed bool) {
	c.checked = time.Now()
	for i, name := range []string{c.names.Cert, c.names.Key, c.names.ClientCA} {
		var now stamp
		if info, err := os.Stat(name); err == nil {
			now = stamp{info.ModTime(), info.Size()}
		}
		changed = changed || now != c.seen[i]
		c.seen[i] = now
	}
	return changed
}

// read makes a new configuration of the files.
func (c *certificates) read() error {
	cert, err := files.Read(c.names.Cert, maxFile)
	if err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	key, err := files.Read(c.names.Key, maxFile)
	if err != nil {
		return fmt.Errorf("tls: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("tls: %s, %s: %w", c.names.Cert, c.names.Key, err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: c.protocols}
	if c.names.ClientCA != "" {
		if config.ClientCAs, err = files.Certificates(c.names.ClientCA); err != nil {
			return fmt.Errorf("tls: %w", err)
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	c.config = config
	return nil
}
