package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/headgate/headgate/server/internal/replay/accesslog"
)

// Change is a request whose answer differs between two files.
type Change struct {
	File   string `json:"file"`
	Line   int64  `json:"line"`
	Time   int64  `json:"time_us"`
	Method string `json:"method"`
	Path   string `json:"path"`
	Key    string `json:"key"`
	// OldKey is the key that the old file counts the request under. It is omitted if both files use the same key.
	OldKey string `json:"old_key,omitempty"`
	// Old and New are the answers under the old file and the new file: passed, or denied by the named policy.
	Old string `json:"old"`
	New string `json:"new"`
}

// KeyChange is the difference between the files for one key.
type KeyChange struct {
	Key      string `json:"key"`
	Requests int64  `json:"requests"`
	// OldDenied and NewDenied are the numbers of requests that each file denies.
	OldDenied int64 `json:"old_denied"`
	NewDenied int64 `json:"new_denied"`
	// Lost is the number of requests that pass only under the old file. Won is the number that pass only under the new
	// file.
	Lost int64 `json:"newly_denied"`
	Won  int64 `json:"newly_passed"`
}

// Comparison contains the differences between two files on one log.
type Comparison struct {
	Old       string `json:"old"`
	New       string `json:"new"`
	Requests  int64  `json:"requests"`
	OldDenied int64  `json:"old_denied"`
	NewDenied int64  `json:"new_denied"`
	Lost      int64  `json:"newly_denied"`
	Won       int64  `json:"newly_passed"`
	// Failed is the number of requests without a decision under one of the files.
	Failed int64 `json:"failed,omitempty"`
	// Rekeyed is the number of requests whose keys differ between the files. They are counted under their keys in the
	// new file.
	Rekeyed int64 `json:"rekeyed,omitempty"`
	// Losers and Winners are the keys that lost or won the most requests. LosingKeys counts the keys that lost more
	// requests than they won, and WinningKeys those that won more than they lost.
	LosingKeys  int64       `json:"losing_keys"`
	WinningKeys int64       `json:"winning_keys"`
	Losers      []KeyChange `json:"losers"`
	Winners     []KeyChange `json:"winners"`
	// First are the first requests with different answers.
	First []Change `json:"first_changes"`
}

// Bounds on the listed changes: their number, and the bytes of their paths.
const (
	maxChanges = 20
	maxPath    = 120
)

// Compare decides all requests in a log with two files, and returns the differences.
func Compare(ctx context.Context, log *accesslog.Log, before, after Config) (*Comparison, error) {
	needs := append(Needs(before.Policies, before.File), Needs(after.Policies, after.File)...)
	if err := log.Want(needs); err != nil {
		return nil, err
	}
	p := pair{log: log, result: Comparison{Old: before.File, New: after.File}, keys: map[string]*KeyChange{}}
	var err error
	if p.before, err = New(before.Policies, before.MaxKeys); err != nil {
		return nil, err
	}
	defer p.before.Close() //nolint:errcheck // a store in memory
	if p.after, err = New(after.Policies, after.MaxKeys); err != nil {
		return nil, err
	}
	defer p.after.Close() //nolint:errcheck // a store in memory
	p.most = after.MaxKeys
	err = log.Run(ctx, func(batch []accesslog.Request) error {
		for i := range batch {
			p.add(ctx, &batch[i])
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	return p.end(after.Top), nil
}

// pair decides the requests in one log under both files.
type pair struct {
	log           *accesslog.Log
	before, after *Simulation
	keys          map[string]*KeyChange
	result        Comparison
	most          int // maximum number of keys that are counted separately
}

func (p *pair) add(ctx context.Context, q *accesslog.Request) {
	before, after := p.before.Decide(ctx, q), p.after.Decide(ctx, q)
	r := &p.result
	r.Requests++
	if before.Err != nil || after.Err != nil {
		r.Failed++
		return
	}
	name, oldName := cmp.Or(after.Key, before.Key), ""
	if before.Key != "" && before.Key != name {
		oldName = before.Key
		r.Rekeyed++
	}
	k, ok := p.keys[name]
	if !ok && name != "" && len(p.keys) < p.most {
		name = strings.Clone(name)
		k = &KeyChange{Key: name}
		p.keys[name] = k
	}
	if k == nil {
		k = &KeyChange{}
	}
	k.Requests++
	if !before.Allowed {
		r.OldDenied++
		k.OldDenied++
	}
	if !after.Allowed {
		r.NewDenied++
		k.NewDenied++
	}
	switch {
	case before.Allowed == after.Allowed:
		return
	case before.Allowed:
		r.Lost++
		k.Lost++
	default:
		r.Won++
		k.Won++
	}
	if len(r.First) < maxChanges {
		r.First = append(r.First, Change{
			File: p.log.Name(q.File), Line: q.Line, Time: q.Time, Method: strings.Clone(q.Method), Path: shortened(q.Path), Key: name, OldKey: strings.Clone(oldName),
			Old: before.twoWords(), New: after.twoWords(),
		})
	}
}

// shortened returns a copy of a path, cut to maxPath bytes.
func shortened(path string) string {
	return strings.ToValidUTF8(strings.Clone(path[:min(len(path), maxPath)]), "?")
}

// twoWords returns "passes", or "denied by" and the policy, and adds a reason if there was no route or no key.
func (a *Answer) twoWords() string {
	switch {
	case a.Allowed && a.Route < 0:
		return "passes, no route"
	case a.Allowed:
		return "passes"
	case a.items == nil:
		return fmt.Sprintf("denied by route %d: no key", a.Route)
	default:
		return "denied by " + a.Policy
	}
}

// end finishes the result with the keys that won or lost the most.
func (p *pair) end(top int) *Comparison {
	r := &p.result
	var losers, winners []KeyChange
	for _, k := range p.keys {
		switch {
		case k.Lost > k.Won:
			losers = append(losers, *k)
		case k.Won > k.Lost:
			winners = append(winners, *k)
		}
	}
	r.LosingKeys, r.WinningKeys = int64(len(losers)), int64(len(winners))
	r.Losers = first(losers, top, func(k *KeyChange) int64 { return k.Lost - k.Won })
	r.Winners = first(winners, top, func(k *KeyChange) int64 { return k.Won - k.Lost })
	return r
}

// first returns the n keys with the highest counts, the highest first.
func first(all []KeyChange, n int, count func(k *KeyChange) int64) []KeyChange {
	slices.SortFunc(all, func(a, b KeyChange) int {
		return cmp.Or(cmp.Compare(count(&b), count(&a)), cmp.Compare(a.Key, b.Key))
	})
	return all[:min(len(all), n)]
}
