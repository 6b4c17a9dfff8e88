package redisstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"sync"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

var _ engine.Keeper = (*Store)(nil)

// For each hash tag, open reservations are stored under two keys: a hash of the reservations by id, and a sorted set of
// the ids by the end of their terms. lua/reserve.lua writes them, in the same slot as the limits' states. A single
// server has one tag. If there are shards, there is one tag per shard. On a Cluster without shards, there is one per
// slot.

// openKinds are the words that distinguish the two keys, in order.
var openKinds = [2]string{"open", "due"}

var slotTags = sync.OnceValue(func() shards { return newShards(Slots) })

func (s *Store) openTags() shards {
	switch {
	case len(s.shards) > 0:
		return s.shards
	case s.conn.Cluster():
		return slotTags()
	default:
		return shards{"0"}
	}
}

func (s *Store) openTag(subject string) string {
	tags := s.openTags()
	if len(tags) == Slots {
		return tags[s.shards.slot(subject)]
	}
	return tags.tag(subject)
}

func (s *Store) openKeys(tag string) []string {
	return []string{s.coordinatorKey(openKinds[0], tag), s.coordinatorKey(openKinds[1], tag)}
}

// sweep is the number of calls that Due needs to cover all slots of a Cluster without shards. Each call covers one part
// of them.
const sweep = 30

// scanPage is the number of fields in one step of a search, so that no call blocks the server for long.
const scanPage = "1000"

// dueAgain is the time in µs after which Due again returns a reservation that was not ended.
const dueAgain = "10000000"

// Due returns overdue reservations. See [engine.Keeper].
func (s *Store) Due(ctx context.Context) (due []*engine.Reservation, err error) {
	tags := s.openTags()
	if len(tags) == Slots {
		part := int(s.swept.Add(1)) % sweep
		tags = tags[part*Slots/sweep : (part+1)*Slots/sweep]
	}
	counts, err := s.openCounts(ctx, tags)
	if err != nil {
		return nil, err
	}
	for i, tag := range tags {
		if counts[i] == 0 {
			continue
		}
		r, err := s.runScriptOn(ctx, s.scripts.due(), s.openKeys(tag), strconv.Itoa(engine.MaxDue-len(due)), dueAgain)
		if err != nil {
			return due, err
		}
		for i := 1; i < len(r.List); i += 2 {
			if kept := readOpen(r.List[i-1].Text, r.List[i].Text); kept != nil {
				due = append(due, kept)
			}
		}
		if len(due) >= engine.MaxDue {
			break
		}
	}
	return due, nil
}

// OpenOf returns the open reservations that charged a key. See [engine.Keeper].
func (s *Store) OpenOf(ctx context.Context, key string, most int, under ...string) (of []*engine.Reservation, err error) {
	tags := s.openTags()
	if len(tags) == Slots || len(s.shards) > 0 {
		tags = shards{s.openTag(key)} // the tags of its states
		for _, counted := range under {
			if tag := s.openTag(counted); !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
	}
	for _, tag := range tags {
		open, cursor := s.openKeys(tag)[0], ""
		for cursor != "0" {
			r, err := s.sendOptional(ctx, open, "HSCAN", open, cmp.Or(cursor, "0"), "COUNT", scanPage)
			if err != nil {
				return of, err
			}
			if len(r.List) != 2 {
				return of, s.fail(nil, OutcomeUnknown, errReply.Error(), nil)
			}
			page := r.List[1].List
			for i := 1; i < len(page); i += 2 {
				if len(of) == most {
					return of, nil
				}
				if kept := readOpen(page[i-1].Text, page[i].Text); kept != nil && kept.Charged(key) {
					of = append(of, kept)
				}
			}
			cursor = r.List[0].Text
		}
	}
	return of, nil
}

// OpenCount returns the number of open reservations. See [engine.Keeper].
func (s *Store) OpenCount(ctx context.Context) (count int64, err error) {
	counts, err := s.openCounts(ctx, s.openTags())
	for _, n := range counts {
		count += n
	}
	return count, err
}

// openCounts returns the number of open reservations for each tag, in one call.
func (s *Store) openCounts(ctx context.Context, tags shards) (counts []int64, err error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	commands, replies := make([]Command, len(tags)), make([]Reply, len(tags))
	for i, tag := range tags {
		due := s.openKeys(tag)[1]
		commands[i] = Command{Key: due, Args: []string{"ZCARD", due}}
	}
	s.conn.Do(ctx, commands, replies)
	counts = make([]int64, len(tags))
	for i := range replies {
		if err := replies[i].Err; err != nil {
			return nil, s.wrap(ctx, nil, err)
		}
		counts[i] = replies[i].Int
	}
	s.roundTrips.Add(1)
	return counts, nil
}

// readOpen decodes a reservation that lua/reserve.lua stored under its id. It returns nil if the bytes are not such a
// reservation.
func readOpen(id, kept string) *engine.Reservation {
	const head, each = 17, 38
	b := []byte(kept)
	if len(b) < head || b[0] != format {
		return nil
	}
	limits := int(b[16])
	body := head + each*limits
	if len(b) < body {
		return nil
	}
	r, _ := engine.ReservationAt(b[body:], id)
	if r == nil || r.Term == nil || len(r.Limits) != limits {
		return nil
	}
	r.Due = int64(binary.BigEndian.Uint64(b[1:]))
	r.Ends = r.Due
	for i := range r.Limits {
		at := b[head+each*i:]
		r.Limits[i].Held = algo.Held{
			Units: number7(at), At: int64(binary.BigEndian.Uint64(at[7:])), Slot: int64(binary.BigEndian.Uint64(at[15:])),
			Ends: int64(binary.BigEndian.Uint64(at[23:])), Reported: number7(at[31:]),
		}
	}
	return r
}

// number7 decodes a number of seven bytes.
func number7(b []byte) (n int64) {
	for _, digit := range b[:7] {
		n = n<<8 | int64(digit)
	}
	return n
}
