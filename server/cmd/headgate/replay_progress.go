package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/server/internal/replay/accesslog"
)

// progressEvery is the interval between two drawings of the bar.
const progressEvery = 200 * time.Millisecond

// progress draws a progress bar while a log is read, if standard error is a terminal and --quiet is not set. The caller
// must call end, which removes the bar.
func (f *replayFlags) progress(c *cobra.Command, log *accesslog.Log) (end func()) {
	file := terminalOf(c.ErrOrStderr())
	if f.quiet || file == nil {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		began := time.Now()
		for {
			select {
			case <-done:
				fmt.Fprintf(file, "\r\x1b[K")
				return
			case <-ticker.C:
				read, size := log.Progress()
				drawProgress(file, read, size, time.Since(began))
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// drawProgress draws the bar over the previous one.
func drawProgress(w io.Writer, read, size int64, took time.Duration) {
	const width = 30
	const mib = 1 << 20
	speed := float64(read) / mib / max(took.Seconds(), 0.001)
	if size <= 0 {
		fmt.Fprintf(w, "\r\x1b[Kread %d MiB, %.0f MiB/s", read/mib, speed)
		return
	}
	full := int(min(read, size) * width / size)
	left := time.Duration(float64(took) * float64(size-min(read, size)) / float64(max(read, 1)))
	fmt.Fprintf(w, "\r\x1b[K[%s%s] %3d %%  %.0f MiB/s  %s left", strings.Repeat("█", full), strings.Repeat("·", width-full),
		min(read, size)*100/size, speed, left.Round(time.Second))
}
