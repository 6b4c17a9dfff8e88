// Package keyhash replaces keys with keyed hashes, so that people's addresses and names do not appear in stores, logs,
// metrics or traces.
//
// A hash is an HMAC-SHA256 with a secret, truncated to 16 bytes. Among 10^9 keys, the probability that any two collide
// is below 2^-68. Without the secret, nobody can check whether a guessed key has a given hash.
package keyhash

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/headgate/headgate/policy/files"
)

const (
	// Prefix is the start of a hash's text. 32 hexadecimal digits follow it.
	Prefix = "hmac:"
	// Bytes is the number of bytes of the HMAC-SHA256 in a hash.
	Bytes = 16
	// textBytes is the length of a hash's text.
	textBytes = len(Prefix) + 2*Bytes
)

// These constants bound the secrets file.
const (
	maxSecrets     = 2
	minSecretBytes = 32
	maxSecretBytes = 256
	maxFileBytes   = 4 << 10
)

// Is reports whether text has the form of a hash.
func Is(text string) bool {
	return len(text) == textBytes && strings.HasPrefix(text, Prefix) && strings.Trim(text[len(Prefix):], "0123456789abcdef") == ""
}

// File holds the secrets from a file. It is safe for concurrent use. A nil *File contains no secrets.
type File struct {
	path    string
	current atomic.Pointer[Secrets]
}

// Open reads a file with one or two secrets of 32 to 256 bytes, one per line. The first one hashes keys. The second is
// the previous secret, so that operators can still find keys.
func Open(path string) (*File, error) {
	f := &File{path: path}
	_, err := f.Reload()
	return f, err
}

// Reload reads the file again, and reports whether its secrets have changed. If the file is invalid, the old secrets
// stay in use.
func (f *File) Reload() (changed bool, err error) {
	texts, err := read(f.path)
	if err != nil {
		return false, err
	}
	before := f.current.Load()
	if before != nil && slices.Equal(before.texts, texts) {
		return false, nil
	}
	s := &Secrets{texts: texts}
	for _, text := range texts {
		s.pools = append(s.pools, &sync.Pool{New: func() any { return &hasher{Hash: hmac.New(sha256.New, []byte(text))} }})
	}
	f.current.Store(s)
	return true, nil
}

// Secrets returns the current secrets, or nil if keys are not hashed.
func (f *File) Secrets() *Secrets {
	if f == nil {
		return nil
	}
	return f.current.Load()
}

// read reads the secrets. Its errors do not reveal them.
func read(path string) (secrets []string, err error) {
	data, err := files.Read(path, maxFileBytes)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		secret := strings.TrimSpace(line)
		if secret == "" {
			continue
		}
		if len(secret) < minSecretBytes || len(secret) > maxSecretBytes {
			return nil, fmt.Errorf("%s: a secret of %d bytes; accepted: %d to %d", path, len(secret), minSecretBytes, maxSecretBytes)
		}
		secrets = append(secrets, secret)
	}
	if len(secrets) == 0 || len(secrets) > maxSecrets || len(secrets) == 2 && secrets[0] == secrets[1] {
		return nil, fmt.Errorf("%s: %d secrets; accepted: one, or two different ones, one a line", path, len(secrets))
	}
	return secrets, nil
}

// Secrets hashes keys. It is immutable.
type Secrets struct {
	texts []string
	pools []*sync.Pool // pools of *hasher, one per secret
}

// hasher is a hash with its buffers. Hashers are reused, so that hashing a key does not allocate.
type hasher struct {
	hash.Hash

	sum [sha256.Size]byte
}

// Count returns the number of secrets: 2 during a rotation.
func (s *Secrets) Count() int { return len(s.pools) }

// Append appends the text of a key's hash under the secret with the given index, 0 or 1.
func (s *Secrets) Append(to []byte, secret int, key string) []byte {
	h := s.pools[secret].Get().(*hasher)
	defer s.pools[secret].Put(h)
	h.Reset()
	_, _ = h.Write(unsafe.Slice(unsafe.StringData(key), len(key))) // Write does not modify the key
	sum := h.Sum(h.sum[:0])
	return hex.AppendEncode(append(to, Prefix...), sum[:Bytes])
}

// Of returns the hash of a key under a secret. If the key is already a hash, Of returns it unchanged.
func (s *Secrets) Of(secret int, key string) string {
	if Is(key) {
		return key
	}
	return string(s.Append(nil, secret, key))
}
