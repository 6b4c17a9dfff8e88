// Package files reads and replaces files named by an operator. It limits the size of each file, so that a wrong name
// cannot exhaust the memory.
package files

import (
	"crypto/x509"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Read returns the content of a file. The most argument is the maximum size in bytes. The error for a larger file
// contains the file's name and the bound.
func Read(path string, most int) ([]byte, error) {
	f, err := Open(path)
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

// Open opens a regular file. It returns an error for anything else. It sets O_NONBLOCK, because opening a named pipe
// would otherwise block until there is a writer.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err == nil && info.IsDir():
		err = fmt.Errorf("%s: a directory; accepted: a file", path)
	case err == nil && !info.Mode().IsRegular():
		err = fmt.Errorf("%s: not a regular file; accepted: a file", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// size formats a bound using the largest unit that divides it.
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

// maxCertificates is the maximum size of a file with certificates.
const maxCertificates = 4 << 20

// Certificates returns the PEM certificates in a file.
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
