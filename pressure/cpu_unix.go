//go:build unix

package pressure

import (
	"syscall"
	"time"
)

// ownCPU returns the CPU time that the process has used. It returns -1 if this is unknown.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return -1
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
