package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
)

// MovedStates counts the work of [Store.Relayout].
type MovedStates struct {
	// States is the number of moved states.
	States int64
	// Unreadable is the number of values that were not moved, because they are not states of this build. The other
	// layout does not find them.
	Unreadable int64
}

const (
	// movePage is the number of keys, or fields of a hash, handled in one step. A script that moves this number of
	// states blocks the server for about a millisecond.
	movePage = 500
	// quietTime is the longest time that a store in use decides before it reads the marker again.
	quietTime = 2 * markerInterval
	// maxPasses bounds the number of passes over all keys.
	maxPasses = 10
)

// Relayout moves the states of token buckets, pacers and fixed windows to this store's layout: [Config.Hashes]. The
// layout does not affect other states. No other process may use the data while Relayout runs. Relayout marks the data
// first, and stores of this build refuse to decide until it has ended. A call that is interrupted at any point can be
// repeated, for the same layout or another one. No state is lost at any point. Relayout calls progress, if it is not
// nil, after each page.
//
// The error is an [*engine.InputError] if no store has used the data, if the data uses another number of shards, or if
// another call of Relayout has changed the marker in the meantime.
func (s *Store) Relayout(ctx context.Context, progress func(MovedStates)) (moved MovedStates, err error) {
	marker, err := s.readMarker(ctx)
	if err != nil || marker == s.ownMarker() {
		return moved, err
	}
	if err := s.movable(marker); err != nil {
		return moved, err
	}
	moving := fmt.Sprintf(markerText, format, len(s.shards)) + movingText + s.hashes.String()
	if err := s.replaceMarker(ctx, marker, moving); err != nil {
		return moved, err
	}
	if sleep(ctx, quietTime); ctx.Err() != nil {
		return moved, ctx.Err()
	}
	m := mover{store: s, marker: moving, progress: progress}
	for range maxPasses {
		before := m.moved.States
		m.moved.Unreadable = 0
		if err := m.pass(ctx); err != nil {
			return m.moved, err
		}
		if m.moved.States == before { // nothing was left to move
			return m.moved, s.replaceMarker(ctx, moving, s.ownMarker())
		}
	}
	return m.moved, s.fail(Misconfigured, fmt.Sprintf("states were still written in the old layout after %d passes: stop all servers", maxPasses), nil)
}

// movable returns an error if the marker shows that the data cannot be moved.
func (s *Store) movable(marker string) error {
	if marker == "" {
		return &engine.InputError{Field: "store", Value: "no " + s.markerKey(), Accepted: "a Redis that a server has used: without one there is nothing to move"}
	}
	err := s.markerError(marker)
	if input, ok := err.(*engine.InputError); ok && input.Field == "layout" { //nolint:errorlint // made by this package, not wrapped
		return nil
	}
	return err
}

// replaceMarker replaces the marker unless another process has replaced it.
func (s *Store) replaceMarker(ctx context.Context, old, text string) error {
	r, err := s.runScript(ctx, s.scripts.replace(), s.markerKey(), old, text)
	if err == nil && r.Int != 1 {
		return &engine.InputError{Field: s.markerKey(), Value: "changed meanwhile", Accepted: strconv.Quote(old) + ": is another relayout running?"}
	}
	return err
}

// mover moves states, page by page.
type mover struct {
	store    *Store
	marker   string // the marker's text while states are moved
	progress func(MovedStates)
	moved    MovedStates
}

// move describes the move of one state. The field of a location is empty if the state has its own key.
type move struct{ from, to location }

// pass visits all keys once.
func (m *mover) pass(ctx context.Context) error {
	nodes, err := m.store.nodeKeys(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if err := m.node(ctx, node); err != nil {
			return err
		}
	}
	return nil
}

// node visits all keys of the node that serves a key.
func (m *mover) node(ctx context.Context, node string) error {
	return m.store.scanKeys(ctx, node, "/*", movePage, allPages, func(keys []Reply) (more bool, err error) {
		return true, m.keys(ctx, keys)
	})
}

// keys moves the states of a page of keys.
func (m *mover) keys(ctx context.Context, keys []Reply) error {
	var moves []move
	for i := range keys {
		name, ok := m.store.parseKey(keys[i].Text)
		switch {
		case !ok:
		case name.hashed:
			if err := m.hash(ctx, name); err != nil {
				return err
			}
		case m.store.hashes > 0:
			moves = append(moves, move{location{key: name.key}, m.store.locationOf(name, name.subject)})
		}
	}
	return m.send(ctx, moves)
}

// hash finds the states in a hash that belong elsewhere, and moves them.
func (m *mover) hash(ctx context.Context, name keyName) error {
	return m.store.pages(ctx, m.store.scripts.page(), name.key, allPages, []string{strconv.Itoa(movePage)}, func(fields []Reply) (more bool, err error) {
		var moves []move
		for i := range fields {
			field := fields[i].Text
			if to := m.store.locationOf(name, field); to.key != name.key {
				moves = append(moves, move{location{name.key, field}, to})
			}
		}
		return true, m.send(ctx, moves)
	})
}

// send moves states in calls of one slot each.
func (m *mover) send(ctx context.Context, moves []move) error {
	if len(moves) == 0 {
		return nil
	}
	marker, err := m.store.readMarker(ctx)
	if err == nil && marker != m.marker {
		return &engine.InputError{Field: m.store.markerKey(), Value: strconv.Quote(marker), Accepted: strconv.Quote(m.marker) + ": is another relayout running?"}
	}
	if err != nil {
		return err
	}
	bySlot := map[uint16][]move{}
	for _, one := range moves {
		slot := uint16(0)
		if m.store.conn.Cluster() {
			slot = slotOfKey(one.from.key)
		}
		bySlot[slot] = append(bySlot[slot], one)
	}
	for _, some := range bySlot {
		for len(some) > 0 {
			n := min(len(some), movePage)
			if err := m.run(ctx, some[:n]); err != nil {
				return err
			}
			some = some[n:]
		}
	}
	if m.progress != nil {
		m.progress(m.moved)
	}
	return nil
}

// run moves states of one slot in one script call.
func (m *mover) run(ctx context.Context, moves []move) error {
	keys, fields := []string{}, []string{}
	for _, one := range moves {
		keys, fields = append(keys, one.from.key, one.to.key), append(fields, one.from.field, one.to.field)
	}
	r, err := m.store.runScriptOn(ctx, m.store.scripts.move(), keys, fields...)
	if err != nil {
		return err
	}
	if len(r.List) != 2 {
		return m.store.fail(OutcomeUnknown, errReply.Error(), nil)
	}
	m.moved.States += r.List[0].Int
	m.moved.Unreadable += r.List[1].Int
	return nil
}

// keyName is the name of a key that holds a state of a token bucket, a pacer or a fixed window, or a hash of such
// states.
type keyName struct {
	key, head string // head as made by appendHead
	subject   string // the subject of a state with its own key
	hashed    bool
}

// parseKey parses a name made by appendKeys. It returns false for any other key.
func (s *Store) parseKey(key string) (name keyName, ok bool) {
	rest, ok := strings.CutPrefix(key, s.prefix+"/")
	parts := strings.SplitN(rest, "/", 4)
	if !ok || len(parts) < 4 || parts[3] == "" {
		return name, false
	}
	algorithm, _, _ := strings.Cut(parts[1], ":")
	if algorithm != "token-bucket" && algorithm != "pacer" && algorithm != "fixed-window" {
		return name, false
	}
	tail := parts[3]
	name = keyName{key: key, head: key[:len(key)-len(tail)], hashed: tail[0] == '#'}
	switch {
	case name.hashed:
		return name, true
	case len(s.shards) > 0:
		_, name.subject, ok = strings.Cut(tail, "}")
		ok = ok && tail[0] == '{'
	case tail[0] == '/':
		name.subject = tail[1:]
	case strings.HasPrefix(tail, "%{") && strings.HasSuffix(tail, "}"):
		name.subject = strings.NewReplacer("%25", "%", "%7D", "}").Replace(tail[2 : len(tail)-1])
	case tail[0] == '{' && strings.HasSuffix(tail, "}"):
		name.subject = tail[1 : len(tail)-1]
	}
	return name, ok && name.subject != ""
}

// locationOf returns the location of a subject's state in this store. The key of the location begins with the head of
// name.
func (s *Store) locationOf(name keyName, subject string) location {
	head := []byte(name.head)
	if s.hashes > 0 {
		return location{key: string(s.appendHash(head, s.hashes.of(subject), subject)), field: subject}
	}
	return location{key: string(s.shards.appendSubject(head, subject))}
}
