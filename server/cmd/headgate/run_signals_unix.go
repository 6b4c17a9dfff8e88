//go:build !windows

package main

import (
	"os"
	"syscall"
)

// forwarded lists the signals that run forwards to its command.
var forwarded = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
