package users

import (
	"cmp"
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

// Open reads a file with users, or with tokens of operators.
func Open(name string) (*File, error) {
	f := &File{path: name}
	_, err := f.Reload()
	return f, err
}

// Reload reads the file again, and reports whether it has changed. If it has an error, the
// users before stay.
func (f *File) Reload() (changed bool, err error) {
	users, err := load(f.path)
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
	SHA256   yaml.Node `yaml:"sha256"`
	May      yaml.Node `yaml:"may"`
	Policies yaml.Node `yaml:"policies"`
	Inline   *bool     `yaml:"inline"`
}

// list returns a field that is a list of texts; nil if it is not set. One that was left empty is
// an error: it can be meant as none or as all. The error does not show what stands there.
func list(name string, n *yaml.Node, accepted string) (texts []string, err error) {
	if n.IsZero() {
		return nil, nil
	}
	if n.Alias != nil {
		n = n.Alias
	}
	switch {
	case n.ShortTag() == "!!null":
		err = fmt.Errorf("%s: empty; accepted: %s", name, accepted)
	case n.Kind != yaml.SequenceNode:
		err = fmt.Errorf("%s: not a list; accepted: %s", name, accepted)
	case n.Decode(&texts) != nil:
		err = fmt.Errorf("%s: not a list of texts; accepted: %s", name, accepted)
	}
	return texts, err
}

func load(name string) (*all, error) {
	data, err := files.Read(name, maxFileBytes)
	if err != nil {
		return nil, err
	}
	parse := parseUsers
	if hasTokens(string(data)) {
		parse = parseTokens
	}
	users, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	users.text = sha256.Sum256(data)
	return users, nil
}

func newAll() *all {
	return &all{byDigest: map[[sha256.Size]byte]*User{}, byName: map[string][]*User{}}
}

// parseUsers reports every error, in the order of the users' names.
func parseUsers(data []byte) (*all, error) {
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
	a := newAll()
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
	digests, err1 := list("sha256", &f.SHA256, "a list of one or two, such as [9f86…]")
	may, err2 := list("may", &f.May, "a list of "+rightsAccepted)
	policies, err3 := list("policies", &f.Policies, "a list such as [login], [] for none, or no policies for all")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return err
	}
	u := User{Name: name, inline: f.Inline == nil || *f.Inline, policies: policies}
	if f.Policies.IsZero() {
		u.policies = []string{"*"}
	}
	if err := u.allow(may, policies); err != nil {
		return err
	}
	switch {
	case name == "" || len(name) > maxNameBytes:
		return fmt.Errorf("name: %d bytes; accepted: 1 to %d", len(name), maxNameBytes)
	case name == Default && len(digests) == 0:
		a.unknown, a.byName[name] = &u, []*User{&u}
		return nil
	case len(digests) == 0 || len(digests) > maxSecrets:
		return fmt.Errorf("sha256: %d; accepted: one or two", len(digests))
	}
	return a.addSecrets(&u, digests)
}

// allow reads what a user may, and with which policies.
func (u *User) allow(may, policies []string) error {
	for _, right := range may {
		if rights[right] == 0 {
			return fmt.Errorf("may: %q; accepted: %s", right, rightsAccepted)
		}
		u.may |= rights[right]
	}
	for _, pattern := range policies {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("policies: %q; accepted: names of policies, with * for any characters", pattern)
		}
	}
	switch {
	case len(policies) > maxPolicies:
		return fmt.Errorf("policies: %d; accepted: up to %d", len(policies), maxPolicies)
	case len(may) == 0:
		return errors.New("may: not set; accepted: a list of " + rightsAccepted)
	default:
		return nil
	}
}

// addSecrets adds a user under each of its secrets.
func (a *all) addSecrets(u *User, digests []string) error {
	for _, text := range digests {
		digest, err := hex.DecodeString(text)
		if err != nil || len(digest) != sha256.Size {
			return errors.New("sha256: not 64 hexadecimal digits; accepted: the output of sha256sum")
		}
		if other := a.byDigest[[sha256.Size]byte(digest)]; other != nil {
			return fmt.Errorf("sha256: also of %s; accepted: a secret of its own", other.Name)
		}
		a.addSecret(*u, [sha256.Size]byte(digest))
	}
	return nil
}

func (a *all) addSecret(u User, digest [sha256.Size]byte) {
	u.digest = digest
	a.byDigest[digest] = &u
	a.byName[u.Name] = append(a.byName[u.Name], &u)
}
