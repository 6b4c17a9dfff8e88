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

// The format marker is a key beside the data, "headgate/shards". It holds what all
// processes that share the data must agree on: the format of the states and the
// number of shards. The first store that is opened writes it. The build before
// this one keeps its number of shards in the same key, and refuses to start when it
// finds this text.
//
// Every store in use reads the marker again each markerInterval. A store that finds
// another marker refuses to decide, because it would count apart from the others.

// format is the first byte of every state; lua/common.lua has the same number.
// States of the format before it are read. A newer one is an error.
const format = 2

const (
	markerInterval = time.Second
	markerText     = "format=%d shards=%d"
)

func (s *Store) markerKey() string { return s.prefix + "/shards" }

func (s *Store) ownMarker() string { return fmt.Sprintf(markerText, format, len(s.shards)) }

// EnsureFormat checks that this store can share the data on the server: that the
// format marker beside the data has this build's format and this store's number of
// shards. It writes the marker if there is none. [Store.Check] and stores that are
// opened by URL call it.
//
// An error says that this store would not find what other processes store, and
// how to mend that. A server that does not answer is no error, except with shards:
// the marker is read again while the store is in use.
func (s *Store) EnsureFormat(ctx context.Context) error {
	if s.clock != nil {
		return nil // tests: no other process uses the data
	}
	marker, err := s.readMarker(ctx)
	switch {
	case err != nil:
		if e, ok := errors.AsType[*Error](err); ok && !e.permanent() && len(s.shards) == 0 {
			return nil
		}
		return err
	case marker == s.ownMarker():
		return nil
	}
	if number, err := strconv.Atoi(marker); marker == "" || err == nil {
		return s.writeMarker(ctx, marker, number)
	}
	return s.markerError(marker)
}

// writeMarker writes the marker where there is none, or replaces that of the build
// before, whose text is its number of shards.
func (s *Store) writeMarker(ctx context.Context, old string, oldShards int) error {
	if old != "" && oldShards != len(s.shards) {
		return s.shardsError(oldShards)
	}
	if err := s.findOlderStates(ctx); err != nil {
		return err
	}
	args := []string{"SET", s.markerKey(), s.ownMarker()}
	if old == "" {
		args = append(args, "NX")
	}
	r, err := s.sendCommand(ctx, s.markerKey(), args...)
	if r.Text == "OK" {
		s.marker.written.Store(time.Now().UnixMicro())
	}
	if err != nil {
		if len(s.shards) == 0 {
			return nil // the server takes no writes now; the next reading misses the marker
		}
		return err
	}
	marker, err := s.readMarker(ctx)
	if err == nil && marker != s.ownMarker() {
		return s.markerError(marker) // another store was first
	}
	return err
}

// markerError returns the error of a marker that is not this store's.
func (s *Store) markerError(marker string) error {
	var other, shards int
	n, _ := fmt.Sscanf(marker, markerText, &other, &shards)
	if n < 1 || other <= format && (marker != fmt.Sprintf(markerText, other, shards) || other < format) {
		return s.fail(Garbage, fmt.Sprintf("%s says %.40q, which no build of Headgate writes", s.markerKey(), marker), nil)
	}
	if other > format {
		return s.fail(Newer, fmt.Sprintf("%s says that another build writes format %d here, and this one reads up to %d", s.markerKey(), other, format), nil)
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

func (s *Store) readMarker(ctx context.Context) (string, error) {
	r, err := s.sendCommand(ctx, s.markerKey(), "GET", s.markerKey())
	return strings.TrimSpace(r.Text), err
}
