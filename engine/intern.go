package engine

import (
	"runtime"
	"sync"
	"weak"
)

// limits has one spec for each limit in use, so that a limit is passed, compared and looked up as a single word. A
// spec without references is collected.
var limits = struct {
	sync.RWMutex
	specs map[spec]weak.Pointer[spec]
}{specs: map[spec]weak.Pointer[spec]{}}

// limit returns the limit with this spec.
func (l spec) limit() Limit {
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
		known = &own
		limits.specs[l] = weak.Make(known)
		runtime.AddCleanup(known, forget, l)
	}
	return Limit{spec: known}
}

// forget drops a collected spec, unless it has been created again.
func forget(gone spec) {
	limits.Lock()
	defer limits.Unlock()
	if limits.specs[gone].Value() == nil {
		delete(limits.specs, gone)
	}
}
