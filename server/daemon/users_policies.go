package daemon

import (
	"log/slog"
	"sync"

	"github.com/headgate/headgate/server/internal/users"
)

// usersPolicies logs a warning if a users file names a policy that does not exist. If the name is misspelled, the
// user's requests are refused. If a policy with the misspelled name is added later, the user gets access to it.
type usersPolicies struct {
	logger *slog.Logger

	mu     sync.Mutex
	files  map[string]*users.File // by path
	names  []string               // the active policies
	logged map[unknownPolicy]bool // the unknown policies at the last check
}

type unknownPolicy struct{ file, user, policy string }

// add adds a users file, before the first check.
func (p *usersPolicies) add(path string, f *users.File) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.files == nil {
		p.files = map[string]*users.File{}
	}
	p.files[path] = f
}

// activated checks the users files against the policies that have become active.
func (p *usersPolicies) activated(names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names = names
	p.check()
}

// reloaded checks the users files against the active policies after a file was reloaded.
func (p *usersPolicies) reloaded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.check()
}

// check logs each unknown policy, unless the last check found it too.
func (p *usersPolicies) check() {
	found := map[unknownPolicy]bool{}
	for path, f := range p.files {
		for user, policy := range f.UnknownPolicies(p.names) {
			u := unknownPolicy{path, user, policy}
			if found[u] = true; !p.logged[u] {
				p.logger.Warn("users file names an unknown policy", "file", path, "user", user, "policy", policy)
			}
		}
	}
	p.logged = found
}
