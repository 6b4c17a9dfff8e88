package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// ignoreBrokenPipes lets the server continue if the reader of its log or output has ended. By default a write to a
// pipe without a reader ends the process.
func ignoreBrokenPipes() { signal.Ignore(syscall.SIGPIPE) }

// catchHangups returns a channel that receives the process's SIGHUPs. By default a SIGHUP would end the process
// without a drain.
func catchHangups() <-chan os.Signal {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups
}

// reloadOn calls reload on each SIGHUP until ctx ends, and logs its errors.
func reloadOn(ctx context.Context, hangups <-chan os.Signal, reload func(context.Context) error, logger *slog.Logger) {
	for {
		select {
		case <-hangups:
			logger.Info("SIGHUP: reloading the configuration")
			if err := reload(ctx); err != nil {
				logger.Warn("SIGHUP", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// secondSignal returns a context that ends on the second SIGTERM or SIGINT. The argument ctx must end on the first. The
// caller must call release.
func secondSignal(ctx context.Context) (stopNow context.Context, release func()) {
	stopNow, release = context.WithCancel(context.Background())
	context.AfterFunc(ctx, func() {
		again := make(chan os.Signal, 1)
		signal.Notify(again, syscall.SIGTERM, syscall.SIGINT)
		defer signal.Stop(again)
		select {
		case <-again:
			release()
		case <-stopNow.Done():
		}
	})
	return stopNow, release
}
