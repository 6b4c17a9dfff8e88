//go:build unix

package daemon

import "syscall"

// openFiles returns the process's limit on open files.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return manyFiles
	}
	return uint64(limit.Cur) //nolint:gosec,unconvert // it is signed on FreeBSD, but never negative
}
