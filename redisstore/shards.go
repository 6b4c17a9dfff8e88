package redisstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/headgate/headgate"
)

// MaxShards is how many shards there are at most.
const MaxShards = 1024

// shards are hash tags that many subjects share, each in an equal part of the
// slots: on a Cluster, keys of one tag travel in one script call. A subject has
// the tag of the part that its own slot is in.
type shards []string

// newShards returns so many tags; none for 0, where every subject is its own.
func newShards(n int) shards {
	tags := make(shards, n)
	for left, number := n, 0; left > 0; number++ {
		text := strconv.Itoa(number)
		if part := int(slot(text)) * n / slots; tags[part] == "" {
			tags[part] = text
			left--
		}
	}
	return tags
}

// appendSubject appends the part of a key that says in which slot it is.
func (s shards) appendSubject(b []byte, subject string) []byte {
	if len(s) == 0 {
		return appendSubject(b, subject)
	}
	b = append(append(b, '{'), s.tag(subject)...)
	return append(append(b, '}'), subject...)
}

func (s shards) tag(subject string) string { return s[int(slot(subject))*len(s)/slots] }

// slot returns the slot of a subject's keys.
func (s shards) slot(subject string) uint16 {
	if len(s) == 0 {
		return subjectSlot(subject)
	}
	return slot(s.tag(subject))
}

// Agree makes sure that the stores on a server's data agree about their shards,
// of which the first one leaves a note: an error says that this store would not
// find what others keep. [Store.Check] and stores that are opened by URL do it.
func (s *Store) Agree(ctx context.Context) error {
	if s.clock != nil {
		return nil // nobody else's data
	}
	note := s.prefix + "/shards"
	commands := []Command{{Key: note, Args: []string{"GET", note}}}
	if len(s.shards) > 0 {
		commands = append([]Command{{Key: note, Args: []string{"SET", note, strconv.Itoa(len(s.shards)), "NX"}}}, commands...)
	}
	replies := make([]Reply, len(commands))
	s.conn.Do(ctx, commands, replies)
	noted, said := replies[0].Err, replies[len(replies)-1]
	switch {
	case len(s.shards) > 0 && noted != nil:
		return s.wrap(ctx, noted)
	case len(s.shards) > 0 && said.Err != nil:
		return s.wrap(ctx, said.Err)
	case said.Err != nil, len(s.shards) == 0 && said.Text == "":
		return nil // without shards nothing need be noted
	case said.Text == strconv.Itoa(len(s.shards)):
		return nil
	default:
		return &headgate.InputError{
			Field: "shards", Value: strconv.Itoa(len(s.shards)),
			Accepted: fmt.Sprintf("%s, as %s says: with other shards the limits that are kept there would start again", said.Text, note),
		}
	}
}
