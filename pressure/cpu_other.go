//go:build !unix

package pressure

import "time"

// ownCPU returns -1, because the system does not report the process's CPU time.
func ownCPU() time.Duration { return -1 }
