package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// seal writes the checksums of all files, and signs them.
func (r *release) seal(signer *signer) error {
	text, err := sums(r.out)
	if err != nil {
		return err
	}
	path := filepath.Join(r.out, marker)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	if signer == nil {
		r.sayf("*** %s IS NOT SIGNED: -key names no key ***", marker)
		return nil
	}
	return os.WriteFile(path+".minisig", signer.sign([]byte(text), "headgate "+r.version+" "+marker), 0o644)
}

// sums returns the sha256sum lines for all files in a directory, sorted by name.
func sums(folder string) (string, error) {
	entries, err := os.ReadDir(folder) // sorted
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range entries {
		sum, err := digest(filepath.Join(folder, e.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, e.Name())
	}
	return b.String(), nil
}

// digest returns a file's SHA-256 in hex.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
