//go:build !unix

package pressure

import "time"

// ownCPU returns -1: the system does not say how much CPU time the process has used.
func ownCPU() time.Duration { return -1 }
