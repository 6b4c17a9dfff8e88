package redisstore

import (
	"crypto/sha1" //nolint:gosec // Redis identifies a script by its SHA-1
	"encoding/hex"
	"sync"

	"github.com/headgate/headgate/engine/algo"
)

// template is a kind of script. Each has a file in lua/.
type template uint8

const (
	merged  template = iota // merge.lua: allows, peeks and gives, merged by key
	single                  // single.lua: operations on one limit each
	several                 // several.lua: operations on several limits
	permits                 // permits.lua: acquire, renew and release
	lookup                  // lookup.lua: expiry and reset
	reserve                 // reserve.lua: reserve and settle
	alone                   // alone.lua: a merged call of one allow
	templateCount
)

var templateFiles = [templateCount]string{"merge", "single", "several", "permits", "lookup", "reserve", "alone"}

// family is a group of algorithms that share a fragment. Its number precedes each limit in a call's arguments, and a
// script for several families tests for them in this order. The numbers may change, because a script and its arguments
// always come from one build. lua/README.md lists the families. merge.lua decides the families up to familyFixed, and
// familyMixed is the last.
type family uint8

const (
	familyBucket family = 1 + iota
	familyFixed
	familyWindow
	familyLog
	familyWarmUp
	familyConcurrency
	familyStateless
	familyFair
	familyPenalty
	familyAdaptive
	familyGuaranteed
	familyMixed // a script for all of them
	familyCount
)

// fragments lists the families. A new algorithm adds its own family here, or joins an existing one.
var fragments = [familyCount]struct {
	// file is the fragment in lua/. shared is a file with code that several families share.
	file, shared string
	algorithms   []algo.Algorithm
	// encode appends the arguments of the fragment. The argument now is the time of the call on this process's clock.
	encode func(b []byte, l *algo.Limit, cost, now int64) []byte
}{
	familyBucket:      {"bucket", "refill", []algo.Algorithm{algo.TokenBucket, algo.Pacer}, encodeBucket},
	familyFixed:       {"fixed", "", []algo.Algorithm{algo.FixedWindow}, encodeFixed},
	familyWindow:      {"window", "history", []algo.Algorithm{algo.SlidingWindow}, encodeSegments},
	familyLog:         {"log", "history", []algo.Algorithm{algo.SlidingLog}, encodeLog},
	familyWarmUp:      {"warmup", "refill", []algo.Algorithm{algo.WarmUp}, encodeWarmUp},
	familyConcurrency: {"concurrency", "", []algo.Algorithm{algo.Concurrency, algo.FairConcurrency}, encodePermits},
	familyStateless:   {"stateless", "", []algo.Algorithm{algo.DenyAll, algo.Unlimited}, encodeStateless},
	familyFair:        {"fair", "refill", []algo.Algorithm{algo.FairShare, algo.FairPacer}, encodeFair},
	familyPenalty:     {"penalty", "", []algo.Algorithm{algo.Penalty}, encodePenalty},
	familyAdaptive:    {"adaptive", "refill", []algo.Algorithm{algo.AdaptiveRate}, encodeAdaptive},
	familyGuaranteed:  {"guaranteed", "", []algo.Algorithm{algo.GuaranteedRate}, encodeGuaranteed},
	familyMixed:       {file: "mixed"},
}

// families maps every possible algorithm number to its family.
var families [1 << 8]family

// There is no script for an algorithm without a family. If there is such an algorithm, every program that imports the
// package panics.
func init() {
	for f := range fragments {
		for _, a := range fragments[f].algorithms {
			families[a] = family(f)
		}
	}
	for _, a := range algo.Algorithms() {
		if families[a] == 0 {
			panic("redisstore: no fragment for " + a.String())
		}
	}
}

// script is a Lua script with its hash for EVALSHA.
type script struct {
	text string
	sha  string
}

// lazyScript assembles a script on first use.
type lazyScript func() *script

func newLazyScript(text func() string) lazyScript {
	return sync.OnceValue(func() *script {
		s := &script{text: text()}
		sum := sha1.Sum([]byte(s.text)) //nolint:gosec // Redis identifies a script by its SHA-1
		s.sha = hex.EncodeToString(sum[:])
		return s
	})
}

// scripts holds all scripts of a store.
type scripts struct {
	// ops holds the scripts that decide operations.
	ops [templateCount][familyCount]lazyScript
	// many holds the merged scripts for servers with MSETEX.
	many [familyCount]lazyScript
	// Each of the other scripts consists of one fragment.
	permitsGet, permitsRestore lazyScript
	beat, compareAndSet, scan  lazyScript
	due                        lazyScript
	move, page, replace        lazyScript // for Relayout
}

// script returns the script generated from a template for a family.
func (s *Store) script(t template, f family) *script {
	if t == merged && s.hashes == 0 && s.writesMany.Load() {
		return s.scripts.many[f]()
	}
	return s.scripts.ops[t][f]()
}

// newScripts returns the scripts with one of two preludes: prelude.lua reads the server's time; prelude_replay.lua,
// for tests, takes the time as an argument. If hashed is set, states are fields of hashes.
func newScripts(preludeName string, hashed bool) *scripts {
	prelude := strip(fragment(embedded, preludeName))
	one := func(name string) lazyScript {
		return newLazyScript(func() string { return prelude + strip(fragment(embedded, name)) })
	}
	s := &scripts{
		permitsGet: one("permits_get"), permitsRestore: one("permits_restore"),
		beat: one("beat"), compareAndSet: one("compare_and_set"), scan: one("scan"), due: one("due"),
		move: one("move"), page: one("page"), replace: one("replace"),
	}
	script := func(t template, f family, of layout) lazyScript {
		return newLazyScript(func() string { return prelude + strip(assemble(embedded, t, f, of)) })
	}
	states := ownKeys
	if hashed {
		states = inHashes
	}
	for f := familyBucket; f < familyCount; f++ {
		for t := range templateCount {
			s.ops[t][f] = script(t, f, states)
		}
		s.many[f] = script(merged, f, manyKeys)
	}
	return s
}
