package engine

import (
	"runtime"
	"sync"
	"weak"
)

// limits contains one spec for each limit in use, so that a limit is a single pointer that is cheap to pass, compare
// and look up. A spec without references is garbage collected.
var limits = struct {
	sync.RWMutex
	specs map[spec]weak.Pointer[spec]
}{specs: map[spec]weak.Pointer[spec]{}}

// limit returns the limit for the spec, with the set of its fields.
func (l spec) limit() Limit {
	l.numbers.Fields = 0 // the other members determine it, so the map's keys lack it
	limits.RLock()
	known := limits.specs[l].Value()
	limits.RUnlock()
	if known != nil {
		return Limit{spec: known}
	}
	limits.Lock()
	defer limits.Unlock()
	if known = limits.specs[l].Value(); known == nil {
		own := l
		own.numbers.Fields = l.fields()
		known = &own
		limits.specs[l] = weak.Make(known)
		runtime.AddCleanup(known, forget, l)
	}
	return Limit{spec: known}
}

// forget removes the entry of a collected spec, unless an equal spec has been created since.
func forget(gone spec) {
	limits.Lock()
	defer limits.Unlock()
	if limits.specs[gone].Value() == nil {
		delete(limits.specs, gone)
	}
}
