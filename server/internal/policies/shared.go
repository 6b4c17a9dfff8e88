package policies

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

// pollShared is the interval between checks for other servers' changes. A check reads one short value.
const pollShared = 300 * time.Millisecond

// reconcileEvery is the time between two reads of all changes. This finds changes that a server stored but did
// not announce because it died.
const reconcileEvery = time.Minute

// shared keeps changes in the store shared by all servers, as values of its coordinator:
//
//	policies                 head: how many changes were made, and the names of the latest
//	policies/names/<00..ff>  the names of all changes, by their first digits
//	policies/change/<name>   a change; "" after it was cleared
//
// A name is a hash of the policy and the key. A server replaces a value only if the value's version is still the one
// that the server has read, so an older change never replaces a newer one. A cleared change leaves an empty value with a
// version. If the store has lost values, or contains older ones after a failover, any server with newer values writes
// them again.
type shared struct {
	values engine.Coordinator
	most   int // maximum number of changes

	mu      sync.Mutex
	changes map[string]stored // by hash
	live    int               // number of changes that are not cleared
	head    int64             // version of the head when it was last read
	count   int64             // the head's count of changes
	losses  int64             // the head's count of losses
	full    time.Time         // when all values were last read
	loaded  bool              // last has been returned by Load
	last    []Change
}

// stored is a coordinator value with its version. first is the version of the first value with this content: a
// value written again after a loss has a later version, but is not a later change.
type stored struct {
	change         Change
	version, first int64
	cleared        bool
}

// head is the value that lists the recent changes. Losses is the number of times that a server found fewer changes in
// the store than it had already read.
type head struct {
	Format  int      `json:"format"`
	Changes int64    `json:"changes"`
	Losses  int64    `json:"losses,omitempty"`
	Recent  []string `json:"recent"` // the latest names, newest last
}

const (
	headName     = "policies"
	namesPrefix  = "policies/names/"
	changePrefix = "policies/change/"

	sharedFormat = 1
	maxRecent    = 64
	// attempts is the maximum number of attempts to update a contended value.
	attempts = 50
)

// NewShared returns a store of changes for all servers that use the same Redis.
func NewShared(values engine.Coordinator) Store {
	return &shared{values: values, most: MaxChanges, changes: map[string]stored{}}
}

func (s *shared) Poll() time.Duration { return pollShared }

// hashOf returns the hash that identifies the change to n in the store.
func hashOf(n name) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(n.policy), n.policy, n.key))
	return hex.EncodeToString(sum[:16])
}

func (s *shared) Put(ctx context.Context, c Change, replaces int64) (version int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := hashOf(c.name())
	if _, known := s.changes[hash]; !known { // the change may have been cleared long ago
		if err := s.read(ctx, []string{hash}); err != nil {
			return 0, err
		}
	}
	known := s.changes[hash]
	if known.live().Version != replaces {
		return 0, ErrConflict
	}
	if (known.version == 0 || known.cleared) && s.live >= s.most {
		return 0, ErrTooMany
	}
	if err := s.list(ctx, hash, true); err != nil {
		return 0, err
	}
	c.Version = 0
	return s.write(ctx, hash, &c, known.version)
}

func (s *shared) Delete(ctx context.Context, c Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := hashOf(c.name())
	known := s.changes[hash]
	if known.version == 0 || known.cleared || known.version != c.Version {
		return ErrConflict
	}
	_, err := s.write(ctx, hash, nil, known.version)
	if err != nil && !errors.Is(err, errUnannounced) {
		return err
	}
	return errors.Join(err, s.list(ctx, hash, false))
}

// live returns the change. It returns an empty change if the change was cleared.
func (v stored) live() Change {
	if v.cleared {
		return Change{}
	}
	return v.change
}

// write stores a change, or its removal, and announces it to the other servers.
func (s *shared) write(ctx context.Context, hash string, c *Change, version int64) (int64, error) {
	text := ""
	if c != nil {
		data, err := json.Marshal(c)
		if err != nil {
			return 0, fmt.Errorf("policies: %w", err)
		}
		text = string(data)
	}
	now, swapped, err := s.values.CompareAndSet(ctx, changePrefix+hash, version, text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("policies: %w", err)
	case !swapped:
		return 0, ErrConflict
	}
	if v, ok := valueOf(text, now); ok {
		s.keep(hash, v)
	}
	if err := s.announce(ctx, hash); err != nil {
		return now, fmt.Errorf("%w: %w", errUnannounced, err)
	}
	return now, nil
}

// errUnannounced is returned for a change that is stored but not announced. Other servers find it only when they read
// all changes again.
var errUnannounced = errors.New("policies: other servers learn of the change within a minute")

// valueOf decodes a value. ok is false for a value that this build cannot read because a later build wrote it.
func valueOf(text string, version int64) (v stored, ok bool) {
	v = stored{version: version, first: version, cleared: text == ""}
	if !v.cleared && json.Unmarshal([]byte(text), &v.change) != nil {
		return v, false
	}
	if v.change.Version > 0 {
		v.first = v.change.Version
	}
	v.change.Version = version
	return v, true
}

// keep updates the cache after a value was read or written.
func (s *shared) keep(hash string, v stored) {
	if before, known := s.changes[hash]; known && !before.cleared {
		s.live--
	}
	if !v.cleared {
		s.live++
	}
	s.changes[hash] = v
}

// announce appends a name to the head.
func (s *shared) announce(ctx context.Context, hash string) error {
	return s.update(ctx, headName, func(text string) (string, error) {
		var h head
		if text != "" {
			if err := json.Unmarshal([]byte(text), &h); err != nil || h.Format > sharedFormat {
				return "", errFormat
			}
		}
		if h.Changes < s.count {
			h.Losses = max(h.Losses, s.losses) + 1
		}
		h.Format, h.Changes = sharedFormat, max(h.Changes, s.count)+1
		h.Recent = append(h.Recent, hash)
		h.Recent = h.Recent[max(0, len(h.Recent)-maxRecent):]
		data, err := json.Marshal(h)
		return string(data), err
	})
}

var errFormat = errors.New("policies: the store has changes of a later version of Headgate")

// list adds a name to the list of names, or removes it.
func (s *shared) list(ctx context.Context, hash string, add bool) error {
	return s.update(ctx, namesPrefix+hash[:2], func(text string) (string, error) {
		var names []string
		if text != "" {
			if err := json.Unmarshal([]byte(text), &names); err != nil {
				return "", errFormat
			}
		}
		at, found := slices.BinarySearch(names, hash)
		switch {
		case found == add:
			return text, nil
		case add:
			names = slices.Insert(names, at, hash)
		default:
			names = slices.Delete(names, at, at+1)
		}
		data, err := json.Marshal(names)
		return string(data), err
	})
}

// update replaces a value. If another server has replaced it in the meantime, update retries.
func (s *shared) update(ctx context.Context, name string, change func(string) (string, error)) error {
	for range attempts {
		text, version, err := s.values.Get(ctx, name)
		if err != nil {
			return fmt.Errorf("policies: %w", err)
		}
		next, err := change(text)
		if err != nil || next == text {
			return err
		}
		_, swapped, err := s.values.CompareAndSet(ctx, name, version, next)
		if err != nil {
			return fmt.Errorf("policies: %w", err)
		}
		if swapped {
			return nil
		}
	}
	return ErrConflict
}
