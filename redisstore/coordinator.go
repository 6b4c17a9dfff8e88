package redisstore

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"time"

	"github.com/headgate/headgate/engine"
)

var _ engine.Coordinator = (*Store)(nil)

// coordinatorKey returns where something that processes share is kept:
// "headgate/coordinator/members/{servers}".
func (s *Store) coordinatorKey(what, name string) string {
	return string(appendSubject([]byte(s.prefix+"/coordinator/"+what+"/"), name))
}

// channel returns what a topic is called among a server's channels, which no
// slot divides.
func (s *Store) channel(topic string) string { return s.prefix + "/coordinator/topic/" + topic }

// Beat says that a member lives. See [engine.Coordinator].
func (s *Store) Beat(ctx context.Context, group, member string, life time.Duration) ([]string, error) {
	if err := firstOf(engine.CheckName("group", group), engine.CheckName("member", member), engine.CheckLife(life)); err != nil {
		return nil, err
	}
	r, err := s.share(ctx, "beat", s.coordinatorKey("members", group), member, strconv.FormatInt(life.Microseconds(), 10), strconv.Itoa(engine.MaxMembers))
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

// Leave ends a member's life. See [engine.Coordinator].
func (s *Store) Leave(ctx context.Context, group, member string) error {
	if err := firstOf(engine.CheckName("group", group), engine.CheckName("member", member)); err != nil {
		return err
	}
	key := s.coordinatorKey("members", group)
	_, err := s.plain(ctx, key, "ZREM", key, member)
	return err
}

// Publish sends a message. See [engine.Coordinator].
func (s *Store) Publish(ctx context.Context, topic, message string) error {
	if err := firstOf(engine.CheckName("topic", topic), engine.CheckBytes("message", len(message), engine.MaxMessageBytes)); err != nil {
		return err
	}
	// A Cluster takes it at any node. Always the same one keeps them in order.
	channel := s.channel(topic)
	_, err := s.plain(ctx, channel, "PUBLISH", channel, message)
	return err
}

// Subscribe hears a topic. See [engine.Coordinator].
func (s *Store) Subscribe(ctx context.Context, topic string, ready func(), heard func(string)) error {
	if err := firstOf(engine.CheckName("topic", topic), ctx.Err()); err != nil {
		return err
	}
	if s.closed.Load() {
		return engine.ErrClosed
	}
	listening, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.life, stop)()
	err := s.conn.Subscribe(listening, s.channel(topic), ready, heard)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.closed.Load():
		return engine.ErrClosed
	default:
		return s.wrap(ctx, err)
	}
}

// Get answers a value. See [engine.Coordinator].
func (s *Store) Get(ctx context.Context, name string) (string, int64, error) {
	if err := engine.CheckName("name", name); err != nil {
		return "", 0, err
	}
	key := s.coordinatorKey("value", name)
	r, err := s.plain(ctx, key, "GET", key)
	switch {
	case err != nil || r.Text == "":
		return "", 0, err
	case len(r.Text) < 9 || r.Text[0] != 1:
		return "", 0, s.fail(Garbage, "GARBAGE "+strconv.Itoa(len(r.Text)), nil)
	}
	return r.Text[9:], int64(binary.BigEndian.Uint64([]byte(r.Text[1:9]))), nil
}

// CompareAndSet stores a value. See [engine.Coordinator].
func (s *Store) CompareAndSet(ctx context.Context, name string, version int64, value string) (int64, bool, error) {
	if err := firstOf(engine.CheckName("name", name), engine.CheckBytes("value", len(value), engine.MaxValueBytes)); err != nil {
		return 0, false, err
	}
	r, err := s.share(ctx, "swap", s.coordinatorKey("value", name), strconv.FormatInt(version, 10), value)
	if err != nil {
		return 0, false, err
	}
	if len(r.List) != 2 {
		return 0, false, s.fail(OutcomeUnknown, errReply.Error(), nil)
	}
	return r.List[1].Int, r.List[0].Int == 1, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// share runs one of the coordinator's scripts on its key.
func (s *Store) share(ctx context.Context, name, key string, args ...string) (Reply, error) {
	script := s.scripts.alone(name)
	args = append([]string{"EVALSHA", script.sha, "1", key}, args...)
	if s.clock != nil {
		args = append(args, strconv.FormatInt(s.now(), 10))
	}
	r, err := s.plain(ctx, key, args...)
	if e, ok := err.(*Error); ok && e.Class == NoScript { //nolint:errorlint // our own, unwrapped
		args[0], args[1] = "EVAL", script.body
		r, err = s.plain(ctx, key, args...)
	}
	return r, err
}

// plain sends one command.
func (s *Store) plain(ctx context.Context, key string, args ...string) (Reply, error) {
	if err := s.enter(ctx); err != nil {
		return Reply{}, err
	}
	defer s.leave()
	s.roundTrips.Add(1)
	return s.bare(ctx, key, args...)
}

// bare sends one command that is not counted among the calls under way.
func (s *Store) bare(ctx context.Context, key string, args ...string) (Reply, error) {
	var replies [1]Reply
	s.conn.Do(ctx, []Command{{Key: key, Args: args}}, replies[:])
	if replies[0].Err != nil {
		return Reply{}, s.wrap(ctx, replies[0].Err)
	}
	return replies[0], nil
}
