package admin

import (
	"context"
	"errors"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/keyhash"
	"github.com/headgate/headgate/server/internal/policies"
)

// countedKey is a key with the names of its counters. If keys are hashed, an operator can give the key or
// its hash; a hash does not reveal its key.
type countedKey struct {
	key string
	// counted is the hash under each secret, in order. It is only the key itself if keys are not hashed, or if the key
	// is a hash.
	counted []string
	hashed  bool
}

// counted returns a key with the names of its counters.
func (a *api) counted(key string) countedKey {
	s := a.HashKeys.Secrets()
	if s == nil {
		return countedKey{key: key, counted: []string{key}}
	}
	k := countedKey{key: key, counted: []string{s.Of(0, key)}, hashed: true}
	for secret := 1; secret < s.Count() && k.known(); secret++ {
		k.counted = append(k.counted, s.Of(secret, key))
	}
	return k
}

// known reports whether the key itself is known, not only its hash.
func (k *countedKey) known() bool { return !k.hashed || !keyhash.Is(k.key) }

// names returns the hashes of the key, because an override can be for a hash. It returns nil if keys are not hashed.
func (k *countedKey) names() []string {
	if k.hashed {
		return k.counted
	}
	return nil
}

// overrideKey returns the key to store in a change to an override: if keys are hashed, the plain key must not be
// stored. Patterns are not hashed.
func (a *api) overrideKey(key string) string {
	if key == "" || policy.IsPattern(key) {
		return key
	}
	k := a.counted(policy.OverrideKey(key))
	if !k.hashed {
		return key
	}
	return k.counted[0]
}

// clearOverride ends the change to a key. The change is stored under the key's hash with any of the secrets, or under
// the plain key if it was made before keys were hashed.
func (a *api) clearOverride(ctx context.Context, of, key string, by policies.By) (c policies.Change, err error) {
	names := []string{key}
	if key != "" && !policy.IsPattern(key) {
		k := a.counted(policy.OverrideKey(key))
		names = append(k.names(), key)
	}
	for _, name := range names {
		if c, err = a.Policies.Clear(ctx, of, name, by); !errors.Is(err, policies.ErrNoChange) {
			break
		}
	}
	return c, err
}
