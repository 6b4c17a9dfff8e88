package redisstore

import "sync/atomic"

// working remembers whether a server has worked for this store. A refusal by such a server is an outage like any other.
// A refusal before is a mistake in the settings, which failure modes must not hide.
type working struct {
	once  atomic.Bool           // a charge had no error
	first atomic.Pointer[Error] // the last refusal before that
}

// ran records that a script has run without an error. Only a charge shows that the server works: one that is full can
// still read, and does not refuse the deletion of members that have expired.
func (w *working) ran(of *script, charged bool) {
	if !of.worked.Load() {
		of.worked.Store(true)
	}
	if charged && !w.once.Load() {
		w.server()
	}
}

// server records that the server does what it is asked.
func (w *working) server() {
	w.once.Store(true)
	w.first.Store(nil)
}

// had reports whether the server has worked before a refusal. A missing permission concerns one script only.
func (w *working) had(of *script, class Class) bool {
	if class == NoPermission && of != nil {
		return of.worked.Load()
	}
	return w.once.Load()
}

// refused records a refusal, unless the server has worked.
func (w *working) refused(e *Error) {
	if !w.once.Load() {
		w.first.Store(e)
	}
}

// Refused returns the server's last refusal if the server has answered only with refusals so far. It returns nil once a
// charge had no error, and while the server has not refused anything.
func (s *Store) Refused() error {
	if e := s.working.first.Load(); e != nil && !s.working.once.Load() {
		return e
	}
	return nil
}
