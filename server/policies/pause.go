package policies

import "time"

// A server that reads its file again works workSpan and rests restSpan, in turns. Ten
// thousand policies take an eighth of a second of one processor: without rests requests wait
// for it, and with them the policies are in force within a second. The group reload of the
// benchmarks has the figures.
const (
	workSpan = 250 * time.Microsecond
	restSpan = 1500 * time.Microsecond
)

// pausing returns a pause that rests once work has gone on for workSpan.
func pausing(now func() time.Time, sleep func(time.Duration)) func() {
	since := now()
	return func() {
		if now().Sub(since) < workSpan {
			return
		}
		sleep(restSpan)
		since = now()
	}
}
