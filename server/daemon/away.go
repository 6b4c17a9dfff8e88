package daemon

import (
	"cmp"
	"context"
	"time"

	"github.com/headgate/headgate/engine"
)

// checkAgain is the interval between checks of a store that was unavailable when the server started.
const checkAgain = time.Second

// checkLater waits for a store that was unavailable when the server started, and then checks it. If it finds problems
// that would have kept the server from starting, it logs them as errors, and the affected decisions fail. If the store
// refuses the check, the server is not ready, and checkLater tries again.
func (d *Daemon) checkLater(ctx context.Context) {
	if d.store.Away == nil {
		return
	}
	told := ""
	ticker := time.NewTicker(checkAgain)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		within, cancel := context.WithTimeout(ctx, checkAgain)
		warnings, err := d.store.Redis.Check(within)
		cancel()
		refused := d.refused()
		d.setServing()
		if err = cmp.Or(err, refused); err == nil {
			d.warn(warnings)
			if own := d.store.Fallback; own == nil || !own.Stats().Away { // otherwise the outage ends when shares no longer decide
				d.outage.Answered()
			}
			return
		}
		if engine.Away(err) || ctx.Err() != nil {
			continue
		}
		if text := err.Error(); text != told {
			told = text
			d.config.Logger.Error("store cannot be used", "error", err)
		}
		if refused == nil {
			return
		}
	}
}

// warn logs settings that put a store's counters at risk.
func (d *Daemon) warn(warnings []string) {
	for _, warning := range warnings {
		d.config.Logger.Warn("store", "warning", warning)
	}
}
