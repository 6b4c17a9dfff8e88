package redisstore

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/engine"
)

// watch is what a store knows of the note while it is in use.
type watch struct {
	// due is when a decision has to look, in ns: until then it takes no lock, and
	// goes by what was wrong at the last reading; nil is nothing.
	due   atomic.Int64
	wrong atomic.Pointer[error]

	mu sync.Mutex
	// read is when the last reading began that was answered, failed whether one has
	// not been answered since.
	read   time.Time
	failed bool
	busy   chan struct{} // closed when the reading under way ends; nil where there is none

	// What is below is for the store that left the note. A process of the build before
	// that ran already, and had written nothing yet, was not found then: it is looked
	// for again.
	left  atomic.Int64 // when, in µs; 0 where another store left it
	looks int
	older error
	look  time.Time // when it was last looked for
}

// looksAfter is how long after a note was left states of the build before are looked
// for again. Where there are some, that goes on each minute until they are gone.
var looksAfter = [...]time.Duration{2 * time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour}

// lookAgain returns an error where states of the build before have come since the
// note was left. Only the reading under way calls it.
func (s *Store) lookAgain(ctx context.Context) error {
	w := &s.watch
	left, now := w.left.Load(), time.Now()
	switch {
	case left == 0:
		return nil
	case w.older != nil && now.Sub(w.look) < time.Minute:
		return w.older
	case w.older == nil && (w.looks == len(looksAfter) || now.Sub(time.UnixMicro(left)) < looksAfter[w.looks]):
		return nil
	}
	err := s.findEarlier(ctx)
	if e, ok := errors.AsType[*Error](err); err != nil && (!ok || e.Class != Older) {
		return w.older // it could not be seen: next time
	}
	w.older, w.look = err, now
	w.looks = min(w.looks+1, len(looksAfter))
	return err
}

// The time that the note takes: a decision waits for it at most so long, or a third
// of what its caller leaves; and a reading is given up after noteTime, with the search
// for states of the build before.
const (
	noteWait = 100 * time.Millisecond
	noteTime = 30 * time.Second
)

// watchNote reads the note again where that is due, and returns what is wrong with
// it. A store in use reads beside its decisions. Before the first decision, and after
// a rest of two beats, all decisions wait for one reading; but not where the note
// cannot be read, as where its node is away: they go on with what is known.
func (s *Store) watchNote(ctx context.Context) error {
	if s.clock != nil {
		return nil
	}
	w := &s.watch
	now := time.Now()
	if now.UnixNano() < w.due.Load() {
		return w.said()
	}
	w.mu.Lock()
	age := now.Sub(w.read)
	if age >= noteBeat && w.busy == nil {
		s.readBeside(now)
	}
	busy := w.busy
	waits := busy != nil && age >= 2*noteBeat && !w.failed
	if !waits {
		w.due.Store(now.Add(noteBeat / 10).UnixNano()) // a reading is under way
	}
	w.mu.Unlock()
	if !waits {
		return w.said()
	}
	most := noteWait
	if deadline, ok := ctx.Deadline(); ok {
		most = min(most, deadline.Sub(now)/3)
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-busy:
	case <-timer.C:
	case <-ctx.Done():
	}
	return w.said()
}

// said returns what was wrong at the last reading.
func (w *watch) said() error {
	if wrong := w.wrong.Load(); wrong != nil {
		return *wrong
	}
	return nil
}

// readBeside begins a reading. The watch is locked.
func (s *Store) readBeside(now time.Time) {
	w := &s.watch
	busy := make(chan struct{})
	started := s.spawn(func() {
		defer close(busy)
		ctx, cancel := context.WithTimeout(s.life, noteTime)
		defer cancel()
		answered, wrong := s.judgeNote(ctx)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.busy, w.failed = nil, !answered
		if answered {
			w.read = now
			if wrong == nil {
				w.wrong.Store(nil)
			} else {
				w.wrong.Store(&wrong)
			}
			w.due.Store(now.Add(noteBeat).UnixNano())
		}
	})
	if started {
		w.busy = busy
	}
}

// judgeNote reads the note and returns what is wrong with it. A server that does not
// answer says nothing; one that has no note, or has lost it with its data, is given
// it.
func (s *Store) judgeNote(ctx context.Context) (answered bool, wrong error) {
	short, cancel := context.WithTimeout(ctx, noteBeat)
	defer cancel()
	note, err := s.readNote(short)
	switch {
	case err == nil && note == s.ownNote():
		return true, s.lookAgain(ctx)
	case err == nil && note == "":
		err = s.adopt(ctx, note, 0)
	case err == nil:
		err = s.disagree(note)
	}
	if input, ok := errors.AsType[*engine.InputError](err); ok {
		err = s.fail(Misconfigured, input.Error(), nil)
	}
	if e, ok := errors.AsType[*Error](err); ok && e.lasts() {
		return true, err
	}
	return err == nil, nil
}

// lasts reports whether an error of the note is one that only an operator ends.
func (e *Error) lasts() bool {
	switch e.Class {
	case Newer, Older, Garbage, Misconfigured, WrongType, NoPermission:
		return true
	default:
		return false
	}
}
