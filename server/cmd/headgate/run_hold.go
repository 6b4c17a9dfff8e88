package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/headgate/headgate/server/internal/respclient"
)

// heldPermit is the permit that is held while the command runs.
type heldPermit struct {
	runner *runner
	id     string

	lease   time.Duration
	expires time.Time // on this process's clock, counted from before the request
}

// longestAsk is the longest pause between two attempts to acquire a permit.
const longestAsk = time.Second

// acquire waits until the units are held. It returns false if --wait has passed, or if the units can never be held.
func (h *heldPermit) acquire(signals <-chan os.Signal) (admitted bool, err error) {
	r := h.runner
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, longestAsk) {
		words := r.words("ACQUIRE", r.units()...)
		if r.n >= 0 {
			words = append(words, h.id)
		}
		began := time.Now()
		v, err := r.call(r.class.add(words))
		if err != nil {
			return false, err
		}
		n, rest, err := respclient.Integers(v, 6)
		if err != nil {
			return false, err
		}
		id, lease, err := idAndTime(rest)
		if err != nil {
			return false, err
		}
		if n[0] == 0 {
			h.id, h.lease = id, time.Duration(lease)*time.Millisecond
			h.expires = began.Add(h.lease)
			return true, nil
		}
		wait := pause/2 + time.Duration(rand.Int64N(int64(pause))) //nolint:gosec // this randomness is not a secret
		if n[3] < 0 || time.Now().Add(wait).After(r.until) {
			return false, nil
		}
		if err := sleep(wait, signals); err != nil {
			return false, err
		}
	}
}

// release gives the units back. If that fails, they become free after the lease time.
func (h *heldPermit) release() { _, _ = h.runner.call(h.runner.words("RELEASE", h.id)) }

// keep renews the permit until ctx ends. It calls lost if the permit is lost or may be lost.
func (h *heldPermit) keep(ctx context.Context, lost func()) {
	if h.lease == 0 {
		return // no limit applies
	}
	ticker := time.NewTicker(max(h.lease/3, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		began := time.Now()
		var held int64
		v, err := h.runner.call(h.runner.words("RENEW", h.id))
		if err == nil {
			held, err = v.AsInt64()
		}
		switch {
		case err == nil && held == 1:
			h.expires = began.Add(h.lease)
		case err == nil || !time.Now().Before(h.expires):
			lost()
			return
		}
	}
}

// killAfter is how long a command may continue after the SIGTERM that it gets when its permit is lost.
const killAfter = 10 * time.Second

// execute runs the command, forwards signals to it, and holds the permit until the command ends.
func (r *runner) execute(ctx context.Context, args []string, signals <-chan os.Signal, held *heldPermit) error {
	command := exec.Command(args[0], args[1:]...) //nolint:gosec,noctx // the caller has requested this command; signals end it
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	ctx, stop := context.WithCancel(ctx)
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer stop()
	if held != nil {
		defer held.release()
	}
	if err := command.Start(); err != nil {
		r.say(err.Error())
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return exitNotFound
		}
		return exitNotStarted
	}
	lost := make(chan struct{})
	if held != nil {
		keeping.Go(func() { held.keep(ctx, func() { close(lost) }) })
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	return r.await(command.Process, ended, signals, lost)
}

// await forwards signals to the command and waits until it ends. It returns its exit status, or exitNotRun if the
// permit was lost. In that case the command gets a SIGTERM, and is killed after killAfter.
func (r *runner) await(process *os.Process, ended <-chan error, signals <-chan os.Signal, lost <-chan struct{}) error {
	var kill <-chan time.Time
	wasLost := false
	for {
		select {
		case s := <-signals:
			_ = process.Signal(s) // the process may already have ended
		case <-lost:
			lost, wasLost = nil, true
			r.say("the permit is lost; the command gets SIGTERM")
			_ = process.Signal(syscall.SIGTERM)
			kill = time.After(killAfter)
		case <-kill:
			_ = process.Kill()
		case err := <-ended:
			if wasLost {
				return exitNotRun
			}
			return statusOf(err)
		}
	}
}

// statusOf converts the error from [exec.Cmd.Wait] to the command's exit status. It returns nil for status 0, and other
// errors unchanged.
func statusOf(err error) error {
	var failed *exec.ExitError
	if !errors.As(err, &failed) {
		return err
	}
	if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitOf(status.Signal())
	}
	return exit(failed.ExitCode())
}
