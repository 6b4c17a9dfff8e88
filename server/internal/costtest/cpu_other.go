//go:build !unix

package costtest

import "time"

var began = time.Now()

// cpuTime returns the time since the start, because this system does not report a process's CPU time.
func cpuTime() time.Duration { return time.Since(began) }
