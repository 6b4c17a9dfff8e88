//go:build !unix

package costtest

import "time"

var began = time.Now()

// cpuTime returns the time since the start, on systems without CPU times of the process.
func cpuTime() time.Duration { return time.Since(began) }
