package tlsfiles_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/internal/tlstest"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/tlsfiles"
)

// handshake connects a client, and returns the serial number of the server's certificate.
func handshake(t *testing.T, l net.Listener, client *tls.Config) (serial string, err error) {
	t.Helper()
	served := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, err = c.Write([]byte("hello"))
			_ = c.Close()
		}
		served <- err
	}()
	c, err := tls.Dial("tcp", l.Addr().String(), client)
	if err == nil {
		_, err = io.ReadFull(c, make([]byte, len("hello")))
		_ = c.Close()
	}
	if err = errors.Join(err, <-served); err != nil {
		return "", err
	}
	return c.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

// copyOf copies an authority's files to the names that a server reads.
func copyOf(t *testing.T, files *tlstest.Files, to policy.TLSFiles) {
	t.Helper()
	for from, to := range map[string]string{files.Cert: to.Cert, files.Key: to.Key, files.CA: to.ClientCA} {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to+".new", data, 0o600)
		}
		if err = errors.Join(err, os.Rename(to+".new", to)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRenewal checks that a renewed certificate is used once the files are read again, and that after an error in a
// file the previous certificate stays. Clients need a certificate from the current authority.
func TestRenewal(t *testing.T) {
	old, renewed := tlstest.New(t), tlstest.New(t)
	dir := t.TempDir()
	names := policy.TLSFiles{Cert: filepath.Join(dir, "c"), Key: filepath.Join(dir, "k"), ClientCA: filepath.Join(dir, "ca")}
	copyOf(t, old, names)
	oldClient, newClient := old.Client(t), renewed.Client(t)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	f, err := tlsfiles.Open(names, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := f.Listen(tcp)
	first, err := handshake(t, l, oldClient)
	if err != nil {
		t.Fatal(err)
	}
	stranger := newClient.Clone()
	stranger.RootCAs = oldClient.RootCAs
	if _, err := handshake(t, l, stranger); err == nil {
		t.Error("a client of another authority was accepted")
	}
	if err := os.WriteFile(names.Cert, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := f.Reload(); changed || err == nil {
		t.Errorf("a broken file: %t, %v", changed, err)
	}
	if again, err := handshake(t, l, oldClient); err != nil || again != first {
		t.Errorf("with a broken file: %v", err)
	}
	copyOf(t, renewed, names)
	for _, want := range []bool{true, false} {
		if changed, err := f.Reload(); changed != want || err != nil {
			t.Errorf("after the renewal: %t, %v", changed, err)
		}
	}
	if second, err := handshake(t, l, newClient); err != nil || second == first {
		t.Errorf("after the renewal: %v, the certificate %s", err, second)
	}
	if _, err := handshake(t, l, oldClient); err == nil {
		t.Error("a client of the old authority was accepted after the renewal")
	}
}

// TestMistakes checks that each error names the missing setting or the mistake.
func TestMistakes(t *testing.T) {
	files := tlstest.New(t)
	for _, c := range []struct {
		names policy.TLSFiles
		want  string
	}{
		{policy.TLSFiles{Cert: files.Cert}, "key is not set; accepted: a file with the private key of cert"},
		{policy.TLSFiles{Key: files.Key}, "cert is not set; accepted: a file with the certificate, beside key"},
		{policy.TLSFiles{Cert: "missing.pem", Key: files.Key}, "open missing.pem"},
		{policy.TLSFiles{Cert: files.Cert, Key: files.Cert}, "tls: "},
		{policy.TLSFiles{Cert: files.Cert, Key: files.Key, ClientCA: files.Key}, "no certificate; accepted: certificates in PEM"},
	} {
		if _, err := tlsfiles.Open(c.names, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.names, err, c.want)
		}
	}
}
