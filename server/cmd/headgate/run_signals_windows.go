package main

import (
	"os"
	"syscall"
)

// forwarded lists the signals that run forwards to its command. Windows has no others.
var forwarded = []os.Signal{syscall.SIGINT, syscall.SIGTERM}
