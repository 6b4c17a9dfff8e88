package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// used is what a process has used.
type used struct {
	cpu time.Duration
	// wakes is how many times its threads have stopped to wait: as many times they were woken.
	wakes int64
}

func (u used) since(before used) used { return used{u.cpu - before.cpu, u.wakes - before.wakes} }

// ownUse returns what this process has used.
func ownUse() used {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return used{}
	}
	return used{time.Duration(r.Utime.Nano() + r.Stime.Nano()), r.Nvcsw}
}

// useOf returns what the main thread of another process has used, in which Redis decides. It is zero where the system
// does not report it.
func useOf(process int) (u used) {
	times, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", process))
	if err != nil {
		return used{}
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
	if err != nil {
		return used{}
	}
	if _, err := fmt.Sscan(string(times), &u.cpu); err != nil {
		return used{}
	}
	for text := range strings.Lines(string(status)) {
		if after, ok := strings.CutPrefix(text, "voluntary_ctxt_switches:"); ok {
			_, _ = fmt.Sscan(after, &u.wakes)
		}
	}
	return u
}
