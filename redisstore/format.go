package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
)

// The format marker is a key in the data, "hg/shards". It holds the settings on which all processes sharing the
// data must agree: the format of the states and the number of shards. The first store that is opened writes it, and
// each store reads it once.

// format is the first byte of every state; lua/common.lua defines the same number. A state of a newer format causes an
// error.
const format = 1

const (
	// markerWait is the longest time that a decision waits for a read of the marker, and the longest time of a read is
	// markerTimeout, which is also the time between the starts of two reads.
	markerWait    = 100 * time.Millisecond
	markerTimeout = time.Second
	markerText    = "format=%d shards=%d"
)

// marker is what is known of the format marker.
type marker struct {
	// right is set once a read has found the right marker, or written it.
	right atomic.Bool

	mu      sync.Mutex
	began   time.Time     // the start of the last read by a decision
	reading chan struct{} // closed when that read ends; nil if there was none
	ended   bool          // a read by a decision has ended
	wrong   error         // the error of the last read that was answered, if it lasts until an operator acts
}

func (s *Store) markerKey() string { return s.prefix + "/shards" }

func (s *Store) ownMarker() string { return fmt.Sprintf(markerText, format, len(s.shards)) }

// EnsureFormat checks that this store can share the data on the server: the format marker must state this build's
// format and this store's shards. If there is no marker, EnsureFormat writes it. [Store.Check] and stores
// opened by URL call EnsureFormat.
//
// An error means that this store would not find other processes' states. The error explains how to fix that. If the
// server does not answer, EnsureFormat returns an error only if there are shards. Without them it returns nil, and
// decisions read the marker.
func (s *Store) EnsureFormat(ctx context.Context) error {
	if s.clock != nil {
		s.askWriteMany(ctx)
		return nil // tests: no other process uses the data
	}
	if s.conn.Cluster() {
		// A client of a Cluster also works with a single server, until that server has to find a key's node.
		if _, err := s.sendCommand(ctx, nil, "", "CLUSTER", "SLOTS"); err != nil && !engine.Away(err) {
			return s.advise(err)
		}
	}
	err := s.agree(ctx)
	if e, ok := errors.AsType[*Error](err); ok && !e.permanent() && s.plain() {
		return nil
	}
	return s.advise(err)
}

// agree reads the marker, and writes it if there is none.
func (s *Store) agree(ctx context.Context) error {
	marker, err := s.readMarker(ctx)
	if err == nil && marker == "" {
		if _, err = s.sendCommand(ctx, nil, s.markerKey(), "SET", s.markerKey(), s.ownMarker(), "NX"); err == nil {
			marker, err = s.readMarker(ctx) // another store may have been first
		}
	}
	if err == nil && marker != s.ownMarker() {
		return s.markerError(marker)
	}
	if err == nil {
		s.marker.right.Store(true)
	}
	return err
}

// formatError returns nil if the marker is right. A store that was opened while the server was away, or was not opened
// by [Store.EnsureFormat], has not read it: its decisions do, and wait for the first read. Until there is an answer, only
// a store without shards decides.
func (s *Store) formatError(ctx context.Context) error {
	if s.clock != nil || s.marker.right.Load() {
		return nil
	}
	m := &s.marker
	m.mu.Lock()
	if time.Since(m.began) >= markerTimeout {
		m.began = time.Now()
		s.startReading()
	}
	reading, wait := m.reading, !m.ended || !s.plain()
	m.mu.Unlock()
	if wait {
		s.awaitMarker(ctx, reading)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.plain() || m.right.Load() || m.wrong != nil {
		return m.wrong
	}
	return s.fail(nil, Unsent, "the number of shards on the server is not known yet", nil)
}

// startReading starts a read of the marker. The caller holds marker.mu.
func (s *Store) startReading() {
	m, reading := &s.marker, make(chan struct{})
	if s.goBackground(func() {
		defer close(reading)
		ctx, cancel := context.WithTimeout(s.lifetime, markerTimeout)
		defer cancel()
		err := s.agree(ctx)
		if input, ok := errors.AsType[*engine.InputError](err); ok {
			err = s.fail(nil, Misconfigured, input.Error(), nil)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.ended = true
		if e, ok := errors.AsType[*Error](err); err == nil || ok && e.permanent() {
			m.wrong = err
		}
	}) {
		m.reading = reading
	}
}

// awaitMarker waits for a read of the marker, at most a third of the time to the decision's deadline.
func (s *Store) awaitMarker(ctx context.Context, reading chan struct{}) {
	most := markerWait
	if !s.plain() { // without the marker there is no decision
		most = markerTimeout
	}
	if deadline, ok := ctx.Deadline(); ok {
		most = min(most, time.Until(deadline)/3)
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-reading:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// markerError returns the error for a marker that does not match this store.
func (s *Store) markerError(marker string) error {
	var other, shards int
	n, _ := fmt.Sscanf(marker, markerText, &other, &shards)
	known := marker == fmt.Sprintf(markerText, other, shards)
	if n < 1 || other <= format && (!known || other < format) {
		return s.fail(nil, Garbage, fmt.Sprintf("%s says %.40q, which no build of Headgate writes", s.markerKey(), marker), nil)
	}
	if other > format {
		return s.fail(nil, Newer, fmt.Sprintf("%s says that another build writes format %d here, and this one reads up to %d", s.markerKey(), other, format), nil)
	}
	return s.shardsError(shards)
}

func (s *Store) shardsError(shards int) error {
	return &engine.InputError{
		Field: "shards", Value: strconv.Itoa(len(s.shards)),
		Accepted: fmt.Sprintf("%d, as %s says: with other shards the limits that are kept there would start again "+
			"(delete that key, with all servers stopped, if they may)", shards, s.markerKey()),
	}
}

// readMarker reads the marker. It also asks the server whether it can write many keys with one command, unless the
// server has already reported this. These are two calls: the adapter would send two commands over another connection
// than the one for decisions, which would then have to be dialed by the first decision.
func (s *Store) readMarker(ctx context.Context) (string, error) {
	r, err := s.sendCommand(ctx, nil, s.markerKey(), "GET", s.markerKey())
	if err == nil {
		s.askWriteMany(ctx)
	}
	return strings.TrimSpace(r.Text), err
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
