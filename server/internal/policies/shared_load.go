package policies

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// parallelReads is the number of values read concurrently.
const parallelReads = 32

// Load reads the values that other servers have changed since the last call, and returns all changes.
func (s *shared) Load(ctx context.Context) (changes []Change, same bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, version, err := s.values.Get(ctx, headName)
	if err != nil {
		return nil, false, fmt.Errorf("policies: %w", err)
	}
	started := time.Now()
	all := s.full.IsZero() || started.Sub(s.full) >= reconcileEvery
	if version == s.head && !all {
		return nil, true, nil
	}
	var h head
	if text != "" {
		if err := json.Unmarshal([]byte(text), &h); err != nil || h.Format > sharedFormat {
			return nil, false, errFormat
		}
	}
	names := h.since(s.count)
	if all || names == nil || h.Losses != s.losses {
		if err = s.loadAll(ctx); err == nil {
			s.full = started
		}
	} else {
		err = s.read(ctx, names)
	}
	if err != nil {
		return nil, false, err
	}
	s.head, s.count, s.losses = version, max(s.count, h.Changes), h.Losses
	live := map[name]Change{}
	for _, v := range s.changes {
		if !v.cleared {
			live[v.change.name()] = v.change
		}
	}
	next := sorted(live)
	same = s.loaded && slices.EqualFunc(s.last, next, func(a, b Change) bool { return a.name() == b.name() && a.Version == b.Version })
	s.loaded, s.last = true, next
	return next, same, nil
}

// since returns the names of the changes that follow the first changes. It returns nil if the head no longer lists
// all of them.
func (h *head) since(changes int64) []string {
	n := h.Changes - changes
	if changes == 0 || n < 0 || n > int64(len(h.Recent)) {
		return nil
	}
	names := slices.Clone(h.Recent[len(h.Recent)-int(n):])
	slices.Sort(names)
	return append([]string{}, slices.Compact(names)...)
}

// loadAll reads every change.
func (s *shared) loadAll(ctx context.Context) error {
	listed, err := s.listed(ctx)
	if err != nil {
		return err
	}
	for hash, v := range s.changes {
		switch {
		case !v.cleared:
			listed[hash] = true
		case len(s.changes) > 2*s.most:
			delete(s.changes, hash) // bounds the cache; Put reads a value that is not cached
		}
	}
	return s.read(ctx, slices.Collect(maps.Keys(listed)))
}

// restore writes a value that the store has lost, replacing the store's version. If another server was faster, that
// server's value is read with the next head.
func (s *shared) restore(ctx context.Context, hash string, v stored, version int64) error {
	if err := s.list(ctx, hash, !v.cleared); err != nil {
		return err
	}
	var content *Change
	if !v.cleared {
		v.change.Version = v.first
		content = &v.change
	}
	_, err := s.write(ctx, hash, content, version)
	if errors.Is(err, ErrConflict) {
		return nil
	}
	return err
}

// listed returns the set of names in the store's list of changes.
func (s *shared) listed(ctx context.Context) (map[string]bool, error) {
	pages := make([]string, 256)
	for i := range pages {
		pages[i] = fmt.Sprintf("%s%02x", namesPrefix, i)
	}
	values, err := s.get(ctx, pages)
	if err != nil {
		return nil, err
	}
	listed := map[string]bool{}
	for _, v := range values {
		var names []string
		if v.text != "" && json.Unmarshal([]byte(v.text), &names) != nil {
			return nil, errFormat
		}
		for _, n := range names {
			listed[n] = true
		}
	}
	return listed, nil
}

// read reads changes and caches them. If a value is older than the cached one, because the store has lost data, read
// writes the cached one again.
func (s *shared) read(ctx context.Context, hashes []string) error {
	names := make([]string, len(hashes))
	for i, hash := range hashes {
		names[i] = changePrefix + hash
	}
	values, err := s.get(ctx, names)
	if err != nil {
		return err
	}
	for i, hash := range hashes {
		known, at := s.changes[hash], &values[i]
		v, ok := valueOf(at.text, at.version)
		switch {
		case !ok || at.version == known.version || at.version == 0 && known.cleared:
		case v.first < known.first:
			err = cmp.Or(err, s.restore(ctx, hash, known, at.version))
		default:
			s.keep(hash, v)
		}
	}
	return err
}

// value is the result of reading a coordinator value.
type value struct {
	text    string
	version int64
	err     error
}

// get reads the values of the given names in parallel.
func (s *shared) get(ctx context.Context, names []string) ([]value, error) {
	values := make([]value, len(names))
	var wg sync.WaitGroup
	tokens := make(chan struct{}, parallelReads)
	for i, name := range names {
		wg.Go(func() {
			tokens <- struct{}{}
			defer func() { <-tokens }()
			v := &values[i]
			v.text, v.version, v.err = s.values.Get(ctx, name)
		})
	}
	wg.Wait()
	for i := range values {
		if err := values[i].err; err != nil {
			return nil, fmt.Errorf("policies: %w", err)
		}
	}
	return values, nil
}
