package engine

import (
	"runtime"
	"sync"
	"weak"
)

// limits has the one spec of each limit that is in use, so that a limit is
// passed, compared and looked up as a single word. What nobody uses any more is
// collected.
var limits = struct {
	sync.RWMutex
	specs map[spec]weak.Pointer[spec]
}{specs: map[spec]weak.Pointer[spec]{}}

// limit returns the limit that says this.
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

// forget drops a spec that was collected, unless it has been made anew.
func forget(gone spec) {
	limits.Lock()
	defer limits.Unlock()
	if limits.specs[gone].Value() == nil {
		delete(limits.specs, gone)
	}
}
