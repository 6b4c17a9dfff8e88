package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
)

// The format marker is a key in the data, "hg/shards". It holds the settings on which all processes sharing the
// data must agree: the format of the states and the number of shards. The first store that is opened writes
// it.
//
// Every store in use reads the marker again at intervals of markerInterval. A store that finds a different marker
// refuses to decide, because it would count separately from the other processes.

// format is the first byte of every state; lua/common.lua defines the same number. A state of a newer format causes an
// error.
const format = 1

const (
	markerInterval = time.Second
	markerText     = "format=%d shards=%d"
)

func (s *Store) markerKey() string { return s.prefix + "/shards" }

func (s *Store) ownMarker() string { return fmt.Sprintf(markerText, format, len(s.shards)) }

// EnsureFormat checks that this store can share the data on the server: the format marker must state this build's
// format and this store's shards. If there is no marker, EnsureFormat writes it. [Store.Check] and stores
// opened by URL call EnsureFormat.
//
// An error means that this store would not find other processes' states. The error explains how to fix that. If the
// server does not answer, EnsureFormat returns an error only if there are shards. Without them it returns nil, because
// the store reads the marker again while it is in use.
func (s *Store) EnsureFormat(ctx context.Context) error {
	if s.clock != nil {
		s.askWriteMany(ctx)
		return nil // tests: no other process uses the data
	}
	err := s.ensureFormat(ctx)
	if err == nil {
		s.marker.known.Store(true)
	}
	return s.advise(err)
}

func (s *Store) ensureFormat(ctx context.Context) error {
	if s.conn.Cluster() {
		// A client of a Cluster also works with a single server, until that server has to find a key's node.
		if _, err := s.sendCommand(ctx, nil, "", "CLUSTER", "SLOTS"); err != nil && !engine.Away(err) {
			return err
		}
	}
	marker, err := s.readMarker(ctx)
	switch {
	case err != nil:
		if e, ok := errors.AsType[*Error](err); ok && !e.permanent() && s.plain() {
			return nil
		}
		return err
	case marker == "":
		return s.writeMarker(ctx)
	case marker == s.ownMarker():
		return nil
	default:
		return s.markerError(marker)
	}
}

func (s *Store) writeMarker(ctx context.Context) error {
	if _, err := s.sendCommand(ctx, nil, s.markerKey(), "SET", s.markerKey(), s.ownMarker(), "NX"); err != nil {
		if s.plain() {
			return nil // the server accepts no writes now, but the next read will find that the marker is missing
		}
		return err
	}
	marker, err := s.readMarker(ctx)
	if err == nil && marker != s.ownMarker() {
		return s.markerError(marker) // another store was first
	}
	return err
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
