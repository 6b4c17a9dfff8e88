package redisstore

import (
	"crypto/sha1" //nolint:gosec // Redis identifies a script by its SHA-1
	"encoding/hex"
	"sync"
	"sync/atomic"
)

// template is a kind of script. Each has a file in lua/.
type template uint8

const (
	merged  template = iota // merge.lua: allows, counts, peeks and gives, merged by key
	single                  // single.lua: operations on one limit each
	several                 // several.lua: operations on several limits
	permits                 // permits.lua: acquire, renew and release
	lookup                  // lookup.lua: expiry and reset
	reserve                 // reserve.lua: reserve and settle
	alone                   // alone.lua: a merged call of one allow
	templateCount
)

var templateFiles = [templateCount]string{"merge", "single", "several", "permits", "lookup", "reserve", "alone"}

// script is a Lua script with its hash for EVALSHA.
type script struct {
	text string
	sha  string
	// worked is set once the script has run without an error. Scripts that decide the same operations share it.
	worked *atomic.Bool
}

// lazyScript assembles a script on first use.
type lazyScript func() *script

func newLazyScript(worked *atomic.Bool, text func() string) lazyScript {
	return sync.OnceValue(func() *script {
		s := &script{text: text(), worked: worked}
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
	beat, compareAndSet, due   lazyScript
}

// newScripts returns the scripts with one of two preludes: prelude.lua reads the server's time; prelude_replay.lua,
// for tests, takes the time as an argument.
func newScripts(preludeName string) *scripts {
	prelude := strip(fragment(embedded, preludeName))
	one := func(name string) lazyScript {
		return newLazyScript(new(atomic.Bool), func() string { return prelude + strip(fragment(embedded, name)) })
	}
	s := &scripts{
		permitsGet: one("permits_get"), permitsRestore: one("permits_restore"),
		beat: one("beat"), compareAndSet: one("compare_and_set"), due: one("due"),
	}
	script := func(t template, f family, many bool, worked *atomic.Bool) lazyScript {
		return newLazyScript(worked, func() string { return prelude + strip(assemble(embedded, t, f, many)) })
	}
	for f := familyBucket; f < familyCount; f++ {
		allows := new(atomic.Bool)
		for t := range templateCount {
			worked := new(atomic.Bool)
			if t == merged || t == alone {
				worked = allows
			}
			s.ops[t][f] = script(t, f, false, worked)
		}
		s.many[f] = script(merged, f, true, allows)
	}
	return s
}
