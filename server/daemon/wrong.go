package daemon

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/server/internal/lograte"
	"github.com/headgate/headgate/server/internal/service"
)

// maxWrongLines is the maximum number of log lines about wrong secrets per second.
const maxWrongLines = 10

// wrongSecrets counts, for each front end, how often a client sends a secret that belongs to no user. It logs a sample.
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

// untrusted returns a function that logs the address of a proxy that the policies file does not trust, at most once a
// minute. Many proxies forward a request if they get no decision, so such a proxy would limit nothing.
func untrusted(logger *slog.Logger) func(caller string) {
	lines := &lograte.Limit{Lines: 1, Per: time.Minute}
	return func(caller string) {
		lines.Warn(logger, "authorize: the caller is not in trusted_proxies, and may forward requests without a limit", "caller", caller)
	}
}

func (w *wrongSecrets) count(from service.FrontEnd) uint64 { return w.shown[from].Load() }
