package daemon

import (
	"log/slog"
	"sync/atomic"

	"github.com/headgate/headgate/server/lograte"
	"github.com/headgate/headgate/server/service"
)

// maxWrongLines is the maximum number of log lines about wrong secrets per second.
const maxWrongLines = 10

// wrongSecrets counts, for each front end, the secrets from clients that belong to no user, and logs a sample.
// Clients without a secret are not counted.
type wrongSecrets struct {
	lines  lograte.Limit
	logger *slog.Logger
	shown  [service.FrontEnds]atomic.Uint64
}

// in returns a function that counts and logs wrong secrets on a front end.
func (w *wrongSecrets) in(from service.FrontEnd) func(client string) {
	return func(client string) {
		w.shown[from].Add(1)
		w.lines.Warn(w.logger, "wrong secret", "frontend", from.String(), "client", client)
	}
}

// count returns the number of wrong secrets on a front end.
func (w *wrongSecrets) count(from service.FrontEnd) uint64 { return w.shown[from].Load() }
