package chaos

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

const (
	// deadline is the processes' --deadline. spare is how much longer than the deadline a caller may wait.
	deadline = 50 * time.Millisecond
	spare    = 10 * time.Millisecond
	// exactAgain is the time within which answers must be exact again once the servers have a primary.
	exactAgain = 2 * time.Second
)

// waits describes how long callers of policies with failure mode local waited for answers from running processes.
type waits struct {
	// ByMillis counts the requests by their wait in ms, rounded up.
	ByMillis map[int]int
	// Beyond is the number of requests that took longer than the sum of the deadline, the spare time and the longest
	// stall during the request. Most is the largest excess.
	Beyond int
	Most   time.Duration
	Stall  time.Duration // the longest stall
}

// waitsOf collects the waits of a seed.
func waitsOf(h *happened, answers []answer) (w waits) {
	w.ByMillis = map[int]int{}
	for _, s := range h.stalls {
		w.Stall = max(w.Stall, s.to-s.from)
	}
	for i := range answers {
		a := &answers[i]
		if a.limit.failure != "local" || a.class == gone || a.byProgram() || h.stands(a) {
			continue
		}
		took := a.received - a.sent
		w.ByMillis[int((took+time.Millisecond-1)/time.Millisecond)]++
		if beyond := took - deadline - spare; beyond > 0 {
			stall, _ := h.stallIn(a.sent, a.received)
			if beyond -= stall; beyond > 0 {
				w.Beyond, w.Most = w.Beyond+1, max(w.Most, beyond)
			}
		}
	}
	return w
}

// stallIn returns the longest stall of the control goroutine in a span, and the sum of its stalls.
func (h *happened) stallIn(from, to time.Duration) (largest, sum time.Duration) {
	at, _ := slices.BinarySearchFunc(h.stalls, from, func(s span, from time.Duration) int { return int(s.to - from) })
	for ; at < len(h.stalls) && h.stalls[at].from <= to; at++ {
		stall := h.stalls[at].to - h.stalls[at].from
		largest, sum = max(largest, stall), sum+stall
	}
	return largest, sum
}

func (w *waits) merge(o waits) {
	if w.ByMillis == nil {
		w.ByMillis = map[int]int{}
	}
	for ms, n := range o.ByMillis {
		w.ByMillis[ms] += n
	}
	w.Beyond, w.Most, w.Stall = w.Beyond+o.Beyond, max(w.Most, o.Most), max(w.Stall, o.Stall)
}

// quantile returns three numbers: the wait in ms that the given number of thousandths of the requests did not exceed,
// the longest wait, and the number of requests.
func (w *waits) quantile(thousandths int) (at, longest, requests int) {
	all := make([]int, 0, len(w.ByMillis))
	for ms, n := range w.ByMillis {
		all, requests = append(all, ms), requests+n
	}
	slices.Sort(all)
	left := (requests*thousandths + 999) / 1000
	for _, ms := range all {
		if longest = ms; left > 0 {
			at = ms
		}
		left -= w.ByMillis[ms]
	}
	return at, longest, requests
}

// figures writes the goals and the measured values.
func figures(out io.Writer, w *waits, faults map[string]*facts, histories int) {
	p999, longest, requests := w.quantile(999)
	fmt.Fprintf(out, "\nwait for a decision, mode local, %d requests\tp99.9 %d ms\tlongest %d ms\n", requests, p999, longest)
	fmt.Fprintf(out, "beyond %s and the largest stall meanwhile\t%d requests\tby %d ms at most\tlargest stall %d ms\n", deadline+spare, w.Beyond, w.Most.Milliseconds(), w.Stall.Milliseconds())
	for _, each := range []struct{ fault, what string }{{failover, "after the servers have a primary"}, {killed, "after a restart with its data"}, {parted, "after the majority has a primary"}} {
		if f := faults[each.fault]; f != nil {
			fmt.Fprintf(out, "exact again %s, wanted %s\t%d ms\n", each.what, exactAgain, f.Back.Milliseconds())
		}
	}
	fmt.Fprintf(out, "histories of single keys with an order\t%d\n", histories)
}

// stallStep is how long the control goroutine sleeps each time. leastStall is the minimum oversleep that counts as a
// stall.
const (
	stallStep  = 2 * time.Millisecond
	leastStall = 5 * time.Millisecond
)

// stallWatch runs a goroutine that only sleeps. If it oversleeps, the machine was too busy to run it, and probably
// did not run other goroutines either.
type stallWatch struct {
	stalls []span
	works  sync.WaitGroup
	stop   chan struct{}
}

func watchStalls(now func() time.Duration) *stallWatch {
	s := &stallWatch{stop: make(chan struct{})}
	s.works.Go(func() {
		for {
			from := now()
			select {
			case <-s.stop:
				return
			case <-time.After(stallStep):
			}
			if to := now(); to-from >= leastStall {
				s.stalls = append(s.stalls, span{from, to})
			}
		}
	})
	return s
}

// end stops the goroutine, and returns its stalls in order.
func (s *stallWatch) end() []span {
	close(s.stop)
	s.works.Wait()
	return s.stalls
}
