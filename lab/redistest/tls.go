package redistest

import (
	"strconv"
	"testing"

	"github.com/headgate/headgate/internal/tlstest"
)

// TLS starts a server that accepts only TLS connections, from clients with a certificate.
func TLS(t testing.TB, flavor Flavor) (*Server, *tlstest.Files) {
	t.Helper()
	Need(t, flavor)
	files := tlstest.New(t)
	s := prepare(t, flavor)
	s.files = files
	s.args[1] = "0"
	s.args = append(s.args, "tls-port", strconv.Itoa(s.Port), "tls-cert-file", files.Cert, "tls-key-file", files.Key,
		"tls-ca-cert-file", files.CA, "tls-auth-clients", "yes")
	s.Start()
	return s, files
}
