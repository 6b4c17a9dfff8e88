package main

import (
	"fmt"
	"os"
	"strings"

	"aead.dev/minisign"
	"golang.org/x/term"
)

// signer signs with the minisign key of the person making the release.
type signer struct{ key minisign.PrivateKey }

// readKey reads a minisign secret key, which may be encrypted. If path is "", it returns nil.
func readKey(path, passwordFile string) (*signer, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // a release without a signature has no signer
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("-key: %w; accepted: a secret key, which minisign -G makes", err)
	}
	s := new(signer)
	if !minisign.IsEncrypted(data) {
		if err := s.key.UnmarshalText(data); err != nil {
			return nil, fmt.Errorf("-key %s: %w; accepted: a secret key, which minisign -G makes", path, err)
		}
		return s, nil
	}
	password, err := readPassword(path, passwordFile)
	if err != nil {
		return nil, err
	}
	if s.key, err = minisign.DecryptKey(password, data); err != nil {
		return nil, fmt.Errorf("-key %s: %w; the password may be wrong", path, err)
	}
	return s, nil
}

func readPassword(path, passwordFile string) (string, error) {
	if passwordFile != "" {
		data, err := os.ReadFile(passwordFile)
		if err != nil {
			return "", fmt.Errorf("-key-password-file: %w", err)
		}
		return strings.TrimRight(string(data), "\r\n"), nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return "", fmt.Errorf("-key %s has a password, and there is no terminal to ask; accepted: -key-password-file FILE", path)
	}
	fmt.Fprintf(os.Stderr, "password of %s: ", path)
	password, err := term.ReadPassword(int(os.Stdin.Fd()))
	fmt.Fprintln(os.Stderr)
	return string(password), err
}

// sign returns the signature as a minisign file. The comment contains no time, so that the same text always gets the
// same signature.
func (s *signer) sign(text []byte, comment string) []byte {
	return minisign.SignWithComments(s.key, text, comment, "signature by the key "+fmt.Sprintf("%016X", s.key.ID()))
}
