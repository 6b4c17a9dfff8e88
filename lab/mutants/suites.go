package main

import (
	"path/filepath"
)

// suite is a set of tests in a package. pkg is the package's directory.
type suite struct{ pkg, tests string }

// conformance maps a kind of mutant to the suites that run after the tests of the mutant's own package. Quick suites
// come first.
var conformance = map[string][]suite{
	"steps": {{"lab/memory", "TestMemstore"}, {"lab/steps", "TestDifferential|TestSharesDifferential|TestLeasesDifferential|TestBounds|TestTogether|TestSlotsBound"}},
	// Decisions in Redis.
	"redis": {
		{"lab/lua", "TestScripts$/^redis$"},
		{"lab/lua", "TestStore$/^redis$/./^storetest$"},
		{"lab/redis", "TestDueBehindUnreadable"},
		{"lab/faults", "TestErrors$/^out_of_memory$|TestShardsAgree"},
		{"lab/lua", "TestShare|TestKeysLiveLongEnough|TestStateBytes|TestSettlementFindsKeyOfOtherType|TestEvictedUnitsExpire|TestMergedAllowFindsKeyOfOtherType|TestKeysOfACallHaveTheirOwnTTL|TestReturnsLiveLongEnough|TestKeptTTLsSuffice"},
	},
	// Requests on several slots of a Cluster.
	"split": {{"lab/faults", "TestSplit"}},
	// Code in other packages that uses the table of algorithms.
	"table": {{"engine", "."}, {"layer/prefetch", "."}},
	// Packages whose own tests are enough.
	"layers": nil,
	// Mistakes that only faults reveal. The audit of the answers must find each of them. The package's own tests are
	// omitted, because they do not test the audit. Faults are random, so the audit gets three tries.
	audited: {{"lab/chaos", "TestChaos$"}, {"lab/chaos", "TestChaos$"}, {"lab/chaos", "TestChaos$"}},
}

const audited = "chaos"

// suitesOf returns the suites that should catch a mutant, in the order to try them.
func suitesOf(root string, m *mutant) (suites []suite) {
	// A directory of fragments contains no tests of its own.
	if lua, _ := filepath.Glob(filepath.Join(root, m.dir, "*.lua")); len(lua) == 0 && m.kind != audited {
		suites = append(suites, suite{m.dir, "."})
	}
	return append(suites, conformance[m.kind]...)
}
