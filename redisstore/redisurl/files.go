package redisurl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/headgate/headgate/engine"
)

// ReadPassword sets the password from the file named in the URL, if any.
func (a *Address) ReadPassword() (err error) {
	if name := a.Options.Get("password_file"); name != "" {
		a.Password, err = Secret(name)
	}
	return err
}

// WithPasswordFile returns the URL with the option password_file added. If file is "", it returns the URL unchanged.
func WithPasswordFile(address, file string) string {
	if file == "" {
		return address
	}
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + "password_file=" + url.QueryEscape(file)
}

// maxSecretBytes bounds the size of a password file.
const maxSecretBytes = 4096

// Secret returns the password stored in a file, without trailing newlines.
func Secret(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("password_file: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxSecretBytes+1))
	if err != nil {
		return "", fmt.Errorf("password_file: %w", err)
	}
	if len(data) > maxSecretBytes {
		return "", engine.InvalidInput("password_file", strconv.Quote(name), "a file of up to 4096 bytes")
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// TLSConfig returns the TLS settings of a URL. It returns nil if the scheme does not use TLS.
func (a *Address) TLSConfig() (*tls.Config, error) {
	ca, cert, key := a.Options.Get("ca_file"), a.Options.Get("cert_file"), a.Options.Get("key_file")
	if !a.TLS {
		if ca != "" || cert != "" || key != "" || a.Options.Get("server_name") != "" {
			return nil, engine.InvalidInput("store", "TLS files", "rediss://, rediss+sentinel:// or rediss+cluster:// with them")
		}
		return nil, nil //nolint:nilnil // no TLS
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: a.Options.Get("server_name")}
	if ca != "" {
		data, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, errors.New("ca_file: no certificate in " + strconv.Quote(ca))
		}
	}
	if (cert == "") != (key == "") {
		return nil, engine.InvalidInput("store", "one of cert_file and key_file", "both or none")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("cert_file, key_file: %w", err)
		}
		config.GetClientCertificate = renewed(cert, key, pair)
	}
	return config, nil
}

// renewed returns a function that reads the client's certificate again for each new connection, so that it can be
// renewed while programs run. If the files cannot be read, or do not fit each other because they are being written, the
// last certificate is used.
func renewed(cert, key string, last tls.Certificate) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	var mu sync.Mutex
	return func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		if pair, err := tls.LoadX509KeyPair(cert, key); err == nil {
			last = pair
		}
		own := last
		return &own, nil
	}
}
