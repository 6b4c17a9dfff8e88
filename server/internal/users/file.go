package users

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/files"
	"github.com/headgate/headgate/policy/yamlfile"
)

// Bounds of a file. A file beyond them causes an error.
const (
	maxUsers     = 1000
	maxSecrets   = 2
	maxPolicies  = 100
	maxNameBytes = 64
	maxFileBytes = 1 << 20
)

// envoyDomain begins the names of the domains of Envoy's rate limit service.
const envoyDomain = "envoy:"

// File holds the users from a file. It is safe for concurrent use.
type File struct {
	path    string
	current atomic.Pointer[all]
}

// Open reads a file with users, or with operators' tokens.
func Open(name string) (*File, error) {
	f := &File{path: name}
	_, err := f.Reload()
	return f, err
}

// Reload reads the file again, and reports whether it has changed. If it is invalid, the previous users stay active.
func (f *File) Reload() (changed bool, err error) {
	users, err := load(f.path)
	if err != nil {
		return false, err
	}
	before := f.current.Swap(users)
	return before != nil && before.text != users.text, nil
}

// Unknown returns the user for clients without a secret. It returns nil if such clients are refused.
func (f *File) Unknown() *User { return f.current.Load().unknown }

// Of returns the user with the given secret. It returns nil if none exists.
func (f *File) Of(secret string) *User { return f.current.Load().of(secret) }

// Named returns the user with the given name if the secret belongs to this user. Otherwise it returns nil.
func (f *File) Named(name, secret string) *User { return f.current.Load().named(name, secret) }

// Current returns the current entry for a user. It returns nil if the user or its secret was removed. If u is nil, it
// returns the user for clients without a secret.
func (f *File) Current(u *User) *User { return f.current.Load().currentOf(u) }

// UnknownPolicies yields each user with each of its patterns that matches none of the policies. It skips the domains of
// Envoy's rate limit service, and patterns for all policies.
func (f *File) UnknownPolicies(policies []string) iter.Seq2[string, string] {
	return func(yield func(user, pattern string) bool) {
		users := f.current.Load()
		if users == nil { // the file could not be read
			return
		}
		known := map[string]bool{"*": true}
		for _, policy := range policies {
			known[policy] = true
		}
		for _, name := range slices.Sorted(maps.Keys(users.byName)) {
			for _, pattern := range users.byName[name][0].policies {
				if _, compared := known[pattern]; !compared { // many users have the same patterns
					known[pattern] = strings.HasPrefix(pattern, envoyDomain) || strings.ContainsAny(pattern, `*?[\`) &&
						slices.ContainsFunc(policies, func(policy string) bool { return matches(pattern, policy) })
				}
				if !known[pattern] && !yield(name, pattern) {
					return
				}
			}
		}
	}
}

// fields holds a user's fields as written. Errors about lists do not contain their values, which can be secrets.
type fields struct {
	SHA256   *yamlfile.Node `yaml:"sha256"`
	May      *yamlfile.Node `yaml:"may"`
	Policies *yamlfile.Node `yaml:"policies"`
	Inline   *bool          `yaml:"inline"`
}

// list returns the strings of the list n, which is the field with the given name. It returns nil if the field is not
// set. An empty value causes an error, because it could mean none or all.
func list(name string, n *yamlfile.Node, accepted string) (texts []string, err error) {
	switch {
	case n == nil:
		return nil, nil
	case n.Kind == yamlfile.Null:
		return nil, engine.InvalidInput(name, "empty", accepted)
	case n.Kind != yamlfile.List:
		return nil, engine.InvalidInput(name, "not a list", accepted)
	}
	for _, item := range n.Items {
		if !item.Scalar() {
			return nil, engine.InvalidInput(name, "not a list of texts", accepted)
		}
		texts = append(texts, item.Text)
	}
	return texts, nil
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
	users, err := parse(name, data)
	if err != nil {
		return nil, err
	}
	users.text = sha256.Sum256(data)
	return users, nil
}

func newAll() *all {
	return &all{byDigest: map[[sha256.Size]byte]*User{}, byName: map[string][]*User{}}
}

// parseUsers parses a users file. It reports every error, in the order of the file.
func parseUsers(name string, data []byte) (*all, error) {
	documents, errs := yamlfile.Read(name, data, nil)
	root := &yamlfile.Node{}
	if len(documents) > 0 {
		root = documents[0]
	}
	report := func(at yamlfile.Place, message string) { errs.Add(yamlfile.ErrorAt(name, at, message)) }
	if len(documents) > 1 {
		report(documents[1].At, "more than one YAML document; accepted: one")
	}
	var file struct {
		Users map[string]*fields `yaml:"users"`
	}
	decoder := yamlfile.Decoder{Report: report}
	decoder.Decode(root, &file)
	if n := len(file.Users); len(errs) == 0 && (n == 0 || n > maxUsers) {
		report(root.Find("users"), fmt.Sprintf("users: %d; accepted: 1 to %d", n, maxUsers))
	}
	if len(errs) > 0 {
		return nil, errs.Sorted(nil)
	}
	a := newAll()
	for _, user := range slices.Sorted(maps.Keys(file.Users)) {
		if bad, ok := errors.AsType[*engine.InputError](a.add(user, file.Users[user])); ok {
			report(root.Find("users", user, bad.Field), "users."+user+"."+bad.Field+": "+bad.Value+"; accepted: "+bad.Accepted)
		}
	}
	return a, errs.Sorted(nil)
}

// add adds a user, under each of its secrets.
func (a *all) add(name string, f *fields) error {
	digests, err1 := list("sha256", f.SHA256, "a list of one or two, such as [9f86…]")
	may, err2 := list("may", f.May, "a list of "+rightsAccepted)
	policies, err3 := list("policies", f.Policies, "a list such as [login], [] for none, or no policies for all")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return err
	}
	u := User{Name: name, inline: f.Inline == nil || *f.Inline, policies: policies}
	if f.Policies == nil {
		u.policies = []string{"*"}
	}
	if err := u.allow(may, policies); err != nil {
		return err
	}
	switch {
	case name == "" || len(name) > maxNameBytes:
		return engine.InvalidInput("name", strconv.Itoa(len(name))+" bytes", "1 to "+strconv.Itoa(maxNameBytes))
	case name == Default && len(digests) == 0:
		a.unknown, a.byName[name] = &u, []*User{&u}
		return nil
	case len(digests) == 0 || len(digests) > maxSecrets:
		return engine.InvalidInput("sha256", strconv.Itoa(len(digests)), "one or two")
	}
	return a.addSecrets(&u, digests)
}

// allow sets the user's rights and policies from the lists in the file. It returns an error for an unknown right or an
// invalid pattern.
func (u *User) allow(may, policies []string) error {
	for _, right := range may {
		known := rights[right]
		if known == 0 {
			return engine.InvalidInput("may", engine.Quote(right), rightsAccepted)
		}
		u.may |= known
	}
	for _, pattern := range policies {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return engine.InvalidInput("policies", engine.Quote(pattern), "names of policies, with * for any characters")
		}
	}
	switch {
	case len(policies) > maxPolicies:
		return engine.InvalidInput("policies", strconv.Itoa(len(policies)), "up to "+strconv.Itoa(maxPolicies))
	case len(may) == 0:
		return engine.InvalidInput("may", "not set", "a list of "+rightsAccepted)
	default:
		return nil
	}
}

// addSecrets adds a user under each of its secrets.
func (a *all) addSecrets(u *User, digests []string) error {
	for _, text := range digests {
		digest, err := hex.DecodeString(text)
		if err != nil || len(digest) != sha256.Size {
			return engine.InvalidInput("sha256", "not 64 hexadecimal digits", "the output of sha256sum")
		}
		if [sha256.Size]byte(digest) == sha256.Sum256(nil) { // sha256sum had no input: everybody has this secret
			return engine.InvalidInput("sha256", "the hash of nothing", "the hash of a secret")
		}
		if other := a.byDigest[[sha256.Size]byte(digest)]; other != nil {
			return engine.InvalidInput("sha256", "also of "+other.Name, "a secret of its own")
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
