package daemon

import (
	"log/slog"
	"sync/atomic"

	"github.com/headgate/headgate/server/lograte"
	"github.com/headgate/headgate/server/service"
)

// maxWrongLines is the highest rate of lines about wrong secrets, in lines per second.
const maxWrongLines = 10

// wrongSecrets counts the secrets that clients have shown and that no user has, by front end, and
// logs a sample. A client without a secret is not counted.
type wrongSecrets struct {
	lines  lograte.Limit
	logger *slog.Logger
	shown  [service.FrontEnds]atomic.Uint64
}

// in returns a function that counts, and logs, the wrong secrets of a front end.
func (w *wrongSecrets) in(from service.FrontEnd) func(client string) {
	return func(client string) {
		w.shown[from].Add(1)
		w.lines.Warn(w.logger, "wrong secret", "frontend", from.String(), "client", client)
	}
}

// count returns how many there were on a front end.
func (w *wrongSecrets) count(from service.FrontEnd) uint64 { return w.shown[from].Load() }
