package users

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"go.yaml.in/yaml/v4"

	"github.com/headgate/headgate/internal/files"
)

// The bounds of a file. A file beyond them is an error.
const (
	maxUsers     = 1000
	maxSecrets   = 2
	maxPolicies  = 100
	maxNameBytes = 64
	maxFileBytes = 1 << 20
)

// File is the users of a file. It is safe for concurrent use.
type File struct {
	path    string
	current atomic.Pointer[all]
}

// Open reads a file.
func Open(name string) (*File, error) {
	f := &File{path: name}
	_, err := f.Reload()
	return f, err
}

// Reload reads the file again, and reports whether it has changed. If it has an error, the
// users before stay.
func (f *File) Reload() (changed bool, err error) {
	users, err := read(f.path)
	if err != nil {
		return false, err
	}
	before := f.current.Swap(users)
	return before != nil && before.text != users.text, nil
}

// Unknown returns the user of a client without a secret; nil if such clients are refused.
func (f *File) Unknown() *User { return f.current.Load().unknown }

// Of returns the user with the secret; nil if there is none.
func (f *File) Of(secret string) *User { return f.current.Load().of(secret) }

// Named returns the user with the name, if the secret is one of its own; nil otherwise.
func (f *File) Named(name, secret string) *User { return f.current.Load().named(name, secret) }

// Again returns a user as the file has it now; nil if it is gone, or its secret is. For nil
// it is the user of a client without a secret.
func (f *File) Again(u *User) *User { return f.current.Load().again(u) }

// fields are a user as written.
type fields struct {
	SHA256   []string `yaml:"sha256"`
	May      []string `yaml:"may"`
	Policies []string `yaml:"policies"`
	Inline   *bool    `yaml:"inline"`
}

func read(name string) (*all, error) {
	data, err := files.Read(name, maxFileBytes)
	if err != nil {
		return nil, err
	}
	users, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	users.text = sha256.Sum256(data)
	return users, nil
}

// parse reports every error, in the order of the users' names.
func parse(data []byte) (*all, error) {
	var file struct {
		Users map[string]*fields `yaml:"users"`
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(file.Users) == 0 || len(file.Users) > maxUsers {
		return nil, fmt.Errorf("users: %d; accepted: 1 to %d", len(file.Users), maxUsers)
	}
	a := &all{byDigest: map[[sha256.Size]byte]*User{}, byName: map[string][]*User{}}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(file.Users)) {
		if err := a.add(name, file.Users[name]); err != nil {
			errs = append(errs, fmt.Errorf("users.%s.%w", name, err))
		}
	}
	return a, errors.Join(errs...)
}

// add adds a user: one for each of its secrets.
func (a *all) add(name string, f *fields) error {
	if f == nil {
		f = &fields{}
	}
	u := User{Name: name, inline: f.Inline == nil || *f.Inline, policies: f.Policies}
	if f.Policies == nil {
		u.policies = []string{"*"}
	}
	for _, right := range f.May {
		switch right {
		case "take":
			u.take = true
		case "administer":
			u.administer = true
		default:
			return fmt.Errorf("may: %q; accepted: take, administer", right)
		}
	}
	for _, pattern := range f.Policies {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("policies: %q; accepted: names of policies, with * for any characters", pattern)
		}
	}
	switch {
	case name == "" || len(name) > maxNameBytes:
		return fmt.Errorf("name: %d bytes; accepted: 1 to %d", len(name), maxNameBytes)
	case len(f.Policies) > maxPolicies:
		return fmt.Errorf("policies: %d; accepted: up to %d", len(f.Policies), maxPolicies)
	case len(f.May) == 0:
		return errors.New("may: not set; accepted: [take], [administer] or both")
	case name == Default && len(f.SHA256) == 0:
		a.unknown, a.byName[name] = &u, []*User{&u}
		return nil
	case len(f.SHA256) == 0 || len(f.SHA256) > maxSecrets:
		return fmt.Errorf("sha256: %d; accepted: one or two", len(f.SHA256))
	}
	for _, text := range f.SHA256 {
		digest, err := hex.DecodeString(text)
		if err != nil || len(digest) != sha256.Size {
			return errors.New("sha256: not 64 hexadecimal digits; accepted: the output of sha256sum")
		}
		own := u
		own.digest = [sha256.Size]byte(digest)
		if other := a.byDigest[own.digest]; other != nil {
			return fmt.Errorf("sha256: also of %s; accepted: a secret of its own", other.Name)
		}
		a.byDigest[own.digest] = &own
		a.byName[name] = append(a.byName[name], &own)
	}
	return nil
}
