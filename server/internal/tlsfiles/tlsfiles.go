// Package tlsfiles serves TLS with certificates from files. The files can be reloaded, so that renewing a certificate
// needs no restart.
package tlsfiles

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/files"
)

// maxFile is the maximum size of a certificate chain or key.
const maxFile = 4 << 20

// Files holds a listener's certificate files. It is safe for concurrent use.
type Files struct {
	names     policy.TLSFiles
	protocols []string
	current   atomic.Pointer[read]
}

// read holds the contents of the files.
type read struct {
	config *tls.Config
	text   [sha256.Size]byte
	ends   time.Time
}

// Open reads the files. The argument protocols lists the server's ALPN protocols, such as h2.
func Open(names policy.TLSFiles, protocols []string) (*Files, error) {
	if err := names.Check(); err != nil {
		return nil, err
	}
	f := &Files{names: names, protocols: protocols}
	_, err := f.Reload()
	return f, err
}

// Paths returns the names of the files.
func (f *Files) Paths() []string {
	paths := []string{f.names.Cert, f.names.Key}
	if f.names.ClientCA != "" {
		paths = append(paths, f.names.ClientCA)
	}
	return paths
}

// Listen wraps a listener with TLS 1.2 or newer. New connections use the contents from the latest Reload.
func (f *Files) Listen(l net.Listener) net.Listener {
	return tls.NewListener(l, &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.current.Load().config, nil },
	})
}

// Ends returns when the first certificate of the chain becomes invalid.
func (f *Files) Ends() time.Time { return f.current.Load().ends }

// Reload reads the files again, and reports whether they have changed. On error the previous contents stay in use.
func (f *Files) Reload() (changed bool, err error) {
	now, err := f.read()
	if err != nil {
		return false, fmt.Errorf("tls: %w", err)
	}
	before := f.current.Swap(now)
	return before != nil && before.text != now.text, nil
}

func (f *Files) read() (*read, error) {
	hash := sha256.New()
	var texts [][]byte
	for _, name := range f.Paths() {
		text, err := files.Read(name, maxFile)
		if err != nil {
			return nil, err
		}
		_, _ = hash.Write(text) // a hash never fails
		texts = append(texts, text)
	}
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", f.names.Cert, f.names.Key, err)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: f.protocols}
	if f.names.ClientCA != "" {
		if config.ClientCAs, err = files.Certificates(f.names.ClientCA); err != nil {
			return nil, err
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return &read{config, [sha256.Size]byte(hash.Sum(nil)), EndOf(&pair)}, nil
}

// EndOf returns when the first certificate of a chain becomes invalid.
func EndOf(pair *tls.Certificate) time.Time {
	end := pair.Leaf.NotAfter
	for _, der := range pair.Certificate[1:] {
		if issuer, err := x509.ParseCertificate(der); err == nil && issuer.NotAfter.Before(end) {
			end = issuer.NotAfter
		}
	}
	return end
}
