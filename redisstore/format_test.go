package redisstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// slowMarker is a server that answers the read of the marker after a delay, and no other command.
type slowMarker struct {
	Conn

	after  time.Duration
	marker string
}

var errOther = errors.New("another command")

func (c *slowMarker) Do(ctx context.Context, commands []Command, replies []Reply) {
	for i := range commands {
		if commands[i].Args[0] != "GET" {
			replies[i].Err = errOther
			continue
		}
		select {
		case <-time.After(c.after):
			replies[i].Text = c.marker
		case <-ctx.Done():
			replies[i].Err = ctx.Err()
		}
	}
}

func (*slowMarker) Cluster() bool { return false }
func (*slowMarker) Close() error  { return nil }

// If there are shards, the first decision waits for the marker until its deadline. If there is no marker, nothing is
// decided, because other processes may use another number of shards. Without shards, the decision does not need the
// marker.
func TestFirstDecisionWaitsForTheMarker(t *testing.T) {
	for _, c := range []struct {
		shards   int
		deadline time.Duration
		waits    time.Duration
		class    Class // OutcomeUnknown if a decision was sent to the server
	}{
		{shards: 1, waits: 500 * time.Millisecond, class: OutcomeUnknown},
		{shards: 1, deadline: 300 * time.Millisecond, waits: 100 * time.Millisecond, class: Unsent},
		{shards: 1, deadline: 3 * time.Second, waits: 500 * time.Millisecond, class: OutcomeUnknown},
		{waits: markerWait, class: OutcomeUnknown},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, err := New(&slowMarker{after: 500 * time.Millisecond, marker: fmt.Sprintf(markerText, format, c.shards)}, Config{Shards: c.shards})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			ctx := t.Context()
			if c.deadline > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.deadline)
				defer cancel()
			}
			begin, results := time.Now(), make([]engine.Answer, 1)
			s.Do(ctx, []engine.Op{engine.Single(engine.OpAllow, "k", rule.TokenBucket(rule.PerSecond(1)), 1)}, results)
			e, ok := errors.AsType[*Error](results[0].Err)
			if took := time.Since(begin); took != c.waits || !ok || e.Class != c.class {
				t.Errorf("%+v: %s, %v", c, took, results[0].Err)
			}
		})
	}
}

// askedServer is a server that answers only the read of the marker and the check for MSETEX.
type askedServer struct {
	Conn

	answer error
	asked  int
}

func (c *askedServer) Do(_ context.Context, commands []Command, replies []Reply) {
	for i := range commands {
		switch commands[i].Args[0] {
		case "GET":
			replies[i].Text = "format=1 shards=0"
		case "EVAL":
			c.asked++
			replies[i].Err = c.answer
		default:
			replies[i].Err = errOther
		}
	}
}

func (*askedServer) Cluster() bool { return false }

// A store asks with the read of the marker whether the server can write many keys, until the server has answered. Only
// an error of the command itself is an answer.
func TestStoreAsksWhetherManyKeysCanBeWritten(t *testing.T) {
	unknown := &ServerError{Text: "ERR Unknown Redis command called from script"}
	for _, c := range []struct {
		answers []error // the last one repeats
		asked   int
		writes  bool
	}{
		{answers: []error{nil}, asked: 1, writes: true},
		{answers: []error{unknown}, asked: 1},
		{answers: []error{&ServerError{Text: "NOPERM no"}}, asked: 1},
		{answers: []error{errOther, &ServerError{Text: "LOADING data"}, nil}, asked: 3, writes: true},
	} {
		conn := &askedServer{}
		s, err := New(conn, Config{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			conn.answer = c.answers[min(i, len(c.answers)-1)]
			_, _ = s.readMarker(t.Context())
		}
		if conn.asked != c.asked || s.writesMany.Load() != c.writes {
			t.Errorf("answers %v: asked %d times, writes many: %t", c.answers, conn.asked, s.writesMany.Load())
		}
	}
}
