package daemon

import (
	"log/slog"
	"sync"

	"github.com/headgate/headgate/server/users"
)

// oldNames logs each former name the first time that a client or file uses it. docs/upgrading.md lists the former
// names.
type oldNames struct {
	logger *slog.Logger
	logged sync.Map // former names
}

// used logs that a client or file used a former name, the first time for each name.
func (n *oldNames) used(former, now string) {
	if _, before := n.logged.LoadOrStore(former, true); !before {
		n.logger.Warn("former name in use: it is still accepted", "former", former, "now", now)
	}
}

// ofRights logs the former names of rights that a users file contains.
func (n *oldNames) ofRights(f *users.File) {
	for former, now := range f.FormerRights() {
		n.used("may: ["+former+"]", "may: ["+now+"]")
	}
}
