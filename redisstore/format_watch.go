package redisstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
)

// marker holds the results of reading the format marker.
type marker struct {
	// due is the instant from which a decision must check the fields below, in ns since 1970. Until then, decisions
	// take no lock.
	due atomic.Int64
	// wrong is the error from the last read. It is nil if the marker was right.
	wrong atomic.Pointer[error]
	// known is set once a read has found the right marker. Until then, a store with shards decides nothing,
	// because it could count separately from other processes.
	known atomic.Bool

	mu       sync.Mutex
	answered time.Time     // start of the last read that was answered
	failed   bool          // a later read was not answered
	reading  chan struct{} // closed when the read in progress ends; nil if no read is in progress
}

// markerWait is the longest time that a decision waits for a read of the marker. A decision also waits at most a third
// of the time to its deadline. If there are shards, the first decisions wait until the read ends.
const markerWait = 100 * time.Millisecond

// readMarkerAgain reads the marker again if the last read is too old. While a store is in use, the read runs in the
// background. Before the first decision, and after two intervals without a decision, all decisions wait for the read.
// If the last read failed, decisions do not wait but use the previous result, because the marker's node may be down.
func (s *Store) readMarkerAgain(ctx context.Context) {
	m := &s.marker
	now := time.Now()
	m.mu.Lock()
	age := now.Sub(m.answered)
	if age >= markerInterval && m.reading == nil {
		s.startReading(now)
	}
	reading := m.reading
	wait := reading != nil && age >= 2*markerInterval && !m.failed
	if !wait {
		m.due.Store(now.Add(markerInterval / 10).UnixNano()) // check again when the read may have ended
	}
	m.mu.Unlock()
	if !wait {
		return
	}
	most := markerWait
	if !s.plain() && !m.known.Load() { // without the marker there is no decision
		most = markerInterval
	}
	if deadline, ok := ctx.Deadline(); ok {
		most = min(most, deadline.Sub(now)/3)
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-reading:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// startReading starts a read of the marker. The caller holds marker.mu.
func (s *Store) startReading(now time.Time) {
	m := &s.marker
	reading := make(chan struct{})
	started := s.goBackground(func() {
		defer close(reading)
		ctx, cancel := context.WithTimeout(s.lifetime, markerInterval)
		defer cancel()
		answered, wrong := s.checkMarker(ctx)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.reading, m.failed = nil, !answered
		if answered {
			m.answered = now
			if wrong == nil {
				m.known.Store(true)
				m.wrong.Store(nil)
			} else {
				m.wrong.Store(&wrong)
			}
			m.due.Store(now.Add(markerInterval).UnixNano())
		}
	})
	if started {
		m.reading = reading
	}
}

// checkMarker reads the marker, and returns an error if the store cannot use it. answered is false if the server did
// not answer. If the marker is missing, as after a loss of the server's data, checkMarker writes it again.
func (s *Store) checkMarker(ctx context.Context) (answered bool, wrong error) {
	marker, err := s.readMarker(ctx)
	switch {
	case err == nil && marker == s.ownMarker():
		return true, nil
	case err == nil && marker == "":
		err = s.writeMarker(ctx)
	case err == nil:
		err = s.markerError(marker)
	}
	if input, ok := errors.AsType[*engine.InputError](err); ok {
		err = s.fail(nil, Misconfigured, input.Error(), nil)
	}
	if e, ok := errors.AsType[*Error](err); ok && e.permanent() {
		return true, err
	}
	return err == nil, nil
}

// permanent reports whether the error lasts until an operator acts.
func (e *Error) permanent() bool {
	switch e.Class {
	case Newer, Garbage, Misconfigured, WrongType, NoPermission:
		return true
	default:
		return false
	}
}
