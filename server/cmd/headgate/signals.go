package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// ignoreHangup keeps SIGHUP, which operators send to reload a configuration,
// from ending the process without a drain.
func ignoreHangup(logger *slog.Logger) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups { // until the process ends
			logger.Warn("SIGHUP ignored: reloading is not supported yet; restart the server to read the configuration again")
		}
	}()
}

// hurryContext returns a context that ends with the second SIGTERM or SIGINT;
// ctx ends with the first.
func hurryContext(ctx context.Context) (hurry context.Context, stop func()) {
	hurry, stop = context.WithCancel(context.Background())
	context.AfterFunc(ctx, func() {
		again := make(chan os.Signal, 1)
		signal.Notify(again, syscall.SIGTERM, syscall.SIGINT)
		defer signal.Stop(again)
		select {
		case <-again:
			stop()
		case <-hurry.Done():
		}
	})
	return hurry, stop
}
