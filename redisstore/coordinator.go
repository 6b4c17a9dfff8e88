package redisstore

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"time"

	"github.com/headgate/headgate/engine"
)

var _ engine.Coordinator = (*Store)(nil)

// coordinatorKey returns the key of a group's members or of a value, such as "hg/coordinator/members/{servers}".
func (s *Store) coordinatorKey(what, name string) string {
	return string(appendSubject([]byte(s.prefix+"/coordinator/"+what+"/"), name))
}

// Beat keeps a member in its group. See [engine.Coordinator].
func (s *Store) Beat(ctx context.Context, group, member string, life time.Duration) ([]string, error) {
	if err := cmp.Or(engine.CheckName("group", group), engine.CheckName("member", member), engine.CheckLife(life)); err != nil {
		return nil, err
	}
	r, err := s.runScript(ctx, s.scripts.beat(), s.coordinatorKey("members", group), member, strconv.FormatInt(life.Microseconds(), 10), strconv.Itoa(engine.MaxMembers))
	if err != nil {
		return nil, err
	}
	if r.Text == "full" {
		return nil, engine.ErrGroupFull
	}
	members := make([]string, len(r.List))
	for i := range r.List {
		members[i] = r.List[i].Text
	}
	slices.Sort(members)
	return members, nil
}

// Leave removes a member from its group. See [engine.Coordinator].
func (s *Store) Leave(ctx context.Context, group, member string) error {
	if err := cmp.Or(engine.CheckName("group", group), engine.CheckName("member", member)); err != nil {
		return err
	}
	key := s.coordinatorKey("members", group)
	_, err := s.call(ctx, nil, key, "ZREM", key, member)
	return err
}

// Get returns a value and its version. See [engine.Coordinator].
func (s *Store) Get(ctx context.Context, name string) (string, int64, error) {
	if err := engine.CheckName("name", name); err != nil {
		return "", 0, err
	}
	key := s.coordinatorKey("value", name)
	r, err := s.call(ctx, nil, key, "GET", key)
	switch {
	case err != nil || r.Text == "":
		return "", 0, err
	case len(r.Text) < 9 || r.Text[0] != 1:
		return "", 0, s.fail(nil, Garbage, "GARBAGE "+strconv.Itoa(len(r.Text)), nil)
	}
	return r.Text[9:], int64(binary.BigEndian.Uint64([]byte(r.Text[1:9]))), nil
}

// CompareAndSet stores a value if its version is the expected one. See [engine.Coordinator].
func (s *Store) CompareAndSet(ctx context.Context, name string, version int64, value string) (int64, bool, error) {
	if err := cmp.Or(engine.CheckName("name", name), engine.CheckBytes("value", len(value), engine.MaxValueBytes)); err != nil {
		return 0, false, err
	}
	r, err := s.runScript(ctx, s.scripts.compareAndSet(), s.coordinatorKey("value", name), strconv.FormatInt(version, 10), value)
	if err != nil {
		return 0, false, err
	}
	if len(r.List) != 2 {
		return 0, false, s.fail(nil, OutcomeUnknown, errReply.Error(), nil)
	}
	return r.List[1].Int, r.List[0].Int == 1, nil
}

func (s *Store) runScript(ctx context.Context, script *script, key string, args ...string) (Reply, error) {
	return s.runScriptOn(ctx, script, []string{key}, args...)
}

// runScriptOn runs a script on keys of one slot.
func (s *Store) runScriptOn(ctx context.Context, script *script, keys []string, args ...string) (Reply, error) {
	args = slices.Concat([]string{"EVALSHA", script.sha, strconv.Itoa(len(keys))}, keys, args)
	if s.clock != nil {
		args = append(args, strconv.FormatInt(s.now(), 10))
	}
	r, err := s.call(ctx, script, keys[0], args...)
	if e, ok := err.(*Error); ok && e.Class == NoScript { //nolint:errorlint // made by this package, not wrapped
		args[0], args[1] = "EVAL", script.text
		r, err = s.call(ctx, script, keys[0], args...)
	}
	if err == nil {
		s.working.ran(script, false)
	}
	return r, err
}

// call sends one command, counted as a call in flight. of is the script that the command runs, if any.
func (s *Store) call(ctx context.Context, of *script, key string, args ...string) (Reply, error) {
	if err := s.begin(ctx); err != nil {
		return Reply{}, err
	}
	defer s.end()
	s.roundTrips.Add(1)
	return s.sendCommand(ctx, of, key, args...)
}

// sendCommand sends one command that is not counted as a call in flight.
func (s *Store) sendCommand(ctx context.Context, of *script, key string, args ...string) (Reply, error) {
	var replies [1]Reply
	s.conn.Do(ctx, []Command{{Key: key, Args: args}}, replies[:])
	if replies[0].Err != nil {
		return Reply{}, s.wrap(ctx, of, replies[0].Err)
	}
	return replies[0], nil
}
