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

// The note is what processes that share a server's data agree about: the format of
// the states and the number of shards. The first store that is opened leaves it
// beside the data, under "headgate/shards", where the build before this one looks
// for its shards and refuses to go on. Every store reads it again each beat while
// it is in use: one that finds another note refuses to decide, because it would
// count apart from the others.
//
// format is the first byte of every state, as lua/common.lua writes it. States of
// the format before it are read; a newer one is an error.
const (
	format   = 2
	noteBeat = time.Second
	noteText = "format=%d shards=%d"
)

func (s *Store) noteKey() string { return s.prefix + "/shards" }

func (s *Store) ownNote() string { return fmt.Sprintf(noteText, format, len(s.shards)) }

// Agree makes sure that the stores on a server's data agree about its format and
// their shards, of which the first one leaves a note. An error says that this store
// would not find what others keep. [Store.Check] and stores that are opened by URL
// do it. A server that cannot be asked is no error: the note is read again while the
// store is in use.
func (s *Store) Agree(ctx context.Context) error {
	if s.clock != nil {
		return nil // nobody else's data
	}
	note, err := s.readNote(ctx)
	switch {
	case err != nil:
		if e, ok := errors.AsType[*Error](err); ok && !e.lasts() && len(s.shards) == 0 {
			return nil
		}
		return err
	case note == s.ownNote():
		return nil
	}
	if number, err := strconv.Atoi(note); note == "" || err == nil {
		return s.adopt(ctx, note, number)
	}
	return s.disagree(note)
}

// adopt leaves the note where there is none, or that of the build before, which is
// the number of its shards.
func (s *Store) adopt(ctx context.Context, note string, shards int) error {
	if note != "" && shards != len(s.shards) {
		return s.otherShards(shards)
	}
	if err := s.findEarlier(ctx); err != nil {
		return err
	}
	args := []string{"SET", s.noteKey(), s.ownNote()}
	if note == "" {
		args = append(args, "NX")
	}
	r, err := s.bare(ctx, s.noteKey(), args...)
	if r.Text == "OK" {
		s.watch.left.Store(time.Now().UnixMicro())
	}
	if err != nil {
		if len(s.shards) == 0 {
			return nil // a server that takes no writes now; its note is missed later
		}
		return err
	}
	left, err := s.readNote(ctx)
	if err == nil && left != s.ownNote() {
		return s.disagree(left) // another was first
	}
	return err
}

// disagree is the error of a note that is not this store's.
func (s *Store) disagree(note string) error {
	var other, shards int
	n, _ := fmt.Sscanf(note, noteText, &other, &shards)
	if n < 1 || other <= format && (note != fmt.Sprintf(noteText, other, shards) || other < format) {
		return s.fail(Garbage, fmt.Sprintf("%s says %.40q, which no build of Headgate writes", s.noteKey(), note), nil)
	}
	if other > format {
		return s.fail(Newer, fmt.Sprintf("%s says that another build writes format %d here, and this one reads up to %d", s.noteKey(), other, format), nil)
	}
	return s.otherShards(shards)
}

func (s *Store) otherShards(shards int) error {
	return &engine.InputError{
		Field: "shards", Value: strconv.Itoa(len(s.shards)),
		Accepted: fmt.Sprintf("%d, as %s says: with other shards the limits that are kept there would start again "+
			"(delete that key, with all servers stopped, if they may)", shards, s.noteKey()),
	}
}

func (s *Store) readNote(ctx context.Context) (string, error) {
	r, err := s.bare(ctx, s.noteKey(), "GET", s.noteKey())
	return strings.TrimSpace(r.Text), err
}
