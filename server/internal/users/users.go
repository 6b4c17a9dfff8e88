// Package users authenticates and authorizes clients and operators, using a file that is read again when it changes.
//
//	users:
//	  default: {may: [decide], policies: [public-*], inline: false}
//	  shop:    {sha256: [5e88…], may: [decide]}
//	  ops:     {sha256: [2c26…, fcde…], may: [decide, operate]}
//
// A user's secret is its RESP password (AUTH) and its HTTP and gRPC bearer token. The file contains the secret's
// SHA-256, so that reading the file does not reveal the secret. A secret must be random, because a guess can be
// checked against its hash. Two hashes allow a secret to be rotated. The user "default" is for clients without a
// secret. If the file lists no such user, these clients are refused.
//
//	users.go   users and their rights
//	file.go    the file
//	tokens.go  files with operators' tokens
package users

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Default is the name of the user for clients without a secret.
const Default = "default"

// slash replaces the slashes in patterns and names before they are matched. An Envoy domain can contain a slash, and
// the wildcards of package path do not match slashes.
const slash = "\x00"

// User is a user from the file. A nil *User has no rights.
type User struct {
	// Name is the user's name in the file.
	Name string

	may      right
	inline   bool
	policies []string
	digest   [sha256.Size]byte // digest of the secret that the user authenticated with
}

type right uint8

const (
	mayDecide right = 1 << iota
	mayWrite
	mayRead
	mayOperate
)

// rights maps the words in files to rights. The right to operate includes reading and writing.
var rights = map[string]right{"decide": mayDecide, "write": mayWrite, "read": mayRead, "operate": mayRead | mayWrite | mayOperate}

const rightsAccepted = "decide, write, read, operate"

func (u *User) has(r right) bool { return u != nil && u.may&r != 0 }

// MayDecide reports whether the user may request decisions.
func (u *User) MayDecide() bool { return u.has(mayDecide) }

// MayWrite reports whether the user may give units back and reset keys.
func (u *User) MayWrite() bool { return u.has(mayWrite) }

// MayRead reports whether the user may read through the admin listener.
func (u *User) MayRead() bool { return u.has(mayRead) }

// MayOperate reports whether the user may change the server through the admin listener.
func (u *User) MayOperate() bool { return u.has(mayOperate) }

// MayBringLimits reports whether the user's requests may contain inline limits.
func (u *User) MayBringLimits() bool { return u != nil && u.inline }

// MayUse reports whether the user's requests may name a policy.
func (u *User) MayUse(policy string) bool {
	return u != nil && slices.ContainsFunc(u.policies, func(pattern string) bool { return matches(pattern, policy) })
}

// matches reports whether a pattern matches the name of a policy.
func matches(pattern, policy string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", slash), strings.ReplaceAll(policy, "/", slash))
	return err == nil && ok
}

// all holds a file's users by the digests of their secrets.
type all struct {
	byDigest map[[sha256.Size]byte]*User
	byName   map[string][]*User
	unknown  *User             // the user "default", or nil
	text     [sha256.Size]byte // the hash of the file
}

// of returns the user with the given secret, or nil if no user has it. The digest is compared in constant time. The
// timing of the map lookup reveals only digests, and secrets cannot be derived from digests.
func (a *all) of(secret string) *User {
	digest := sha256.Sum256([]byte(secret))
	u := a.byDigest[digest]
	if u == nil || subtle.ConstantTimeCompare(u.digest[:], digest[:]) != 1 {
		return nil
	}
	return u
}

// named returns the user with the given name if the secret belongs to this user.
func (a *all) named(name, secret string) *User {
	digest := sha256.Sum256([]byte(secret))
	var found *User
	for _, u := range a.byName[name] {
		if subtle.ConstantTimeCompare(u.digest[:], digest[:]) == 1 {
			found = u
		}
	}
	return found
}

// currentOf returns the current entry for a user. It returns nil if the user or its secret was removed. For a client
// without a secret, it returns the user default, or nil if the file lists none.
func (a *all) currentOf(u *User) *User {
	if u == nil || u.digest == ([sha256.Size]byte{}) {
		return a.unknown
	}
	if now := a.byDigest[u.digest]; now != nil && now.Name == u.Name {
		return now
	}
	return nil
}

const bearer = "accepted: Authorization: Bearer and the secret of a user"

// The errors for clients that lack a right.
var (
	ErrMayNotDecide  = errors.New("this user may not request decisions; accepted: a user that may: [decide]")
	ErrMayNotWrite   = errors.New("this user may not give units back or reset keys; accepted: a user that may: [write]")
	ErrMayNotRead    = errors.New("this user is no operator; accepted: a user that may: [read] or [operate]")
	ErrMayNotOperate = errors.New("this user may only read; accepted: a user that may: [operate]")
	ErrMayNotBring   = errors.New("requests of this user cannot have limits of their own; accepted: a policy")
)

// Bearer returns the user with the bearer token in an Authorization header. For "" it returns the user for clients
// without a secret. It returns an error if there is no such user.
func (f *File) Bearer(authorization string) (*User, error) {
	if authorization == "" {
		if u := f.Unknown(); u != nil {
			return u, nil
		}
		return nil, errors.New("there is no secret, and no user default; " + bearer)
	}
	scheme, secret, _ := strings.Cut(authorization, " ")
	if strings.EqualFold(scheme, "Bearer") {
		if u := f.Of(secret); u != nil {
			return u, nil
		}
	}
	return nil, errors.New("no user has this secret; " + bearer)
}

// CheckPolicy returns an error if the user's requests may not name the policy.
func (u *User) CheckPolicy(name string) error {
	if u.MayUse(name) {
		return nil
	}
	return fmt.Errorf("this user may not use the policy %.64q; accepted: the policies of this user", name)
}

type contextKey struct{}

// With returns a context for a user's calls. A nil user has no rights.
func With(ctx context.Context, u *User) context.Context {
	return context.WithValue(ctx, contextKey{}, u)
}

// From returns the user from a context. guarded is false if the call came through a listener without users.
func From(ctx context.Context) (u *User, guarded bool) {
	u, guarded = ctx.Value(contextKey{}).(*User)
	return u, guarded
}
