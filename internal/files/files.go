// Package files reads files that an operator names. Each has a bound, so that a wrong name
// does not fill the memory.
package files

import (
	"crypto/x509"
	"fmt"
	"io"
	"os"
)

// Read returns the content of a file of at most so many bytes. The error of a longer one
// names the file and the bound.
func Read(path string, most int) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > most {
		return nil, fmt.Errorf("%s: over %s; accepted: up to %[2]s", path, size(most))
	}
	return data, nil
}

// size writes a bound in the largest unit in which it is a whole number.
func size(bytes int) string {
	switch {
	case bytes%(1<<20) == 0:
		return fmt.Sprint(bytes>>20, " MiB")
	case bytes%(1<<10) == 0:
		return fmt.Sprint(bytes>>10, " KiB")
	default:
		return fmt.Sprint(bytes, " bytes")
	}
}

// maxCertificates is the size of the largest file with certificates.
const maxCertificates = 4 << 20

// Certificates returns the certificates, in PEM, of a file.
func Certificates(path string) (*x509.CertPool, error) {
	data, err := Read(path, maxCertificates)
	if err != nil {
		return nil, err
	}
	all := x509.NewCertPool()
	if !all.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s: no certificate; accepted: certificates in PEM", path)
	}
	return all, nil
}
