package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// ignoreHangup logs SIGHUP and ignores it. Operators send it to reload a configuration, and
// by default it would end the process without a drain.
func ignoreHangup(logger *slog.Logger) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups { // until the process ends
			logger.Warn("SIGHUP ignored: reloading is not supported yet; restart the server to read the configuration again")
		}
	}()
}

// secondSignal returns a context that ends with the second SIGTERM or SIGINT. ctx ends with
// the first.
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
