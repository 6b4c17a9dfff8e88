package redisstore

import (
	"context"
	"errors"
	"sync"
	"time"
)

// askAgain is how long a command that the server's ACL refused is not sent again.
const askAgain = 10 * time.Minute

// refusedCommands remembers commands that decisions do not need, and that the ACL refused. Operators' pages and scrapes
// send them every few seconds, and would fill the server's ACL LOG.
type refusedCommands struct {
	mu   sync.Mutex
	last map[string]refusedCommand
}

type refusedCommand struct {
	err error
	at  time.Time
}

// sendOptional sends one command that decisions do not need. If the ACL has refused it in the last ten minutes, it
// returns the same error. [Store.Check] forgets this.
func (s *Store) sendOptional(ctx context.Context, key string, args ...string) (Reply, error) {
	r := &s.refusedCommands
	r.mu.Lock()
	last, ok := r.last[args[0]]
	r.mu.Unlock()
	if ok && time.Since(last.at) < askAgain {
		return Reply{}, last.err
	}
	reply, err := s.call(ctx, nil, key, args...)
	if e, ok := errors.AsType[*Error](err); ok && e.Class == NoPermission {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.last == nil {
			r.last = map[string]refusedCommand{}
		}
		r.last[args[0]] = refusedCommand{s.advise(err), time.Now()}
	}
	return reply, s.advise(err)
}

func (r *refusedCommands) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.last)
}
