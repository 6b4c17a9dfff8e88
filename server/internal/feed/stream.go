package feed

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/headgate/headgate/server/internal/adminapi"
)

const (
	// writeTimeout is how long a client may take to read one event.
	writeTimeout = 10 * time.Second
	// checkEvery is the interval for rechecking the client's permission.
	checkEvery = 5 * time.Second
	// MaxSnapshots is the maximum number of snapshots that a client can request.
	MaxSnapshots = 1000
)

// Serve streams the past seconds, followed by a snapshot each second, until the client leaves, the function valid
// returns false, or the feed is closed. If n is above 0, Serve ends after n snapshots. If there are already
// [MaxStreams] streams or the feed is closed, Serve writes nothing and returns false.
func (f *Feed) Serve(w http.ResponseWriter, r *http.Request, n int, valid func() bool) bool {
	s, seconds, ok := f.follow()
	if !ok {
		return false
	}
	defer f.leave(s)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy must forward each event immediately
	out := &writer{w: w, control: http.NewResponseController(w)}
	// The server's usual deadlines would end the stream, so each event gets its own deadline instead.
	_ = out.control.SetReadDeadline(time.Time{}) // not supported by a recorder
	history, err := json.Marshal(adminapi.PastSeconds{Seconds: seconds})
	if err != nil || !out.write("history", history) {
		return true
	}
	f.stream(r, s, out, n, valid)
	return true
}

// stream writes the snapshots to a client.
func (f *Feed) stream(r *http.Request, s *stream, out *writer, n int, valid func() bool) {
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	for sent := 0; n == 0 || sent < n; {
		select {
		case text := <-s.next:
			if !out.write("snapshot", text) {
				return
			}
			sent++
		case <-check.C:
			if !valid() {
				return
			}
		case <-r.Context().Done():
			return
		case <-f.end:
			return
		}
	}
}

// writer writes server-sent events.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buffer  []byte
}

// write sends one event. Its data is JSON without line breaks.
func (e *writer) write(name string, data []byte) bool {
	e.buffer = append(e.buffer[:0], "event: "+name+"\ndata: "...)
	e.buffer = append(append(e.buffer, data...), "\n\n"...)
	_ = e.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // not supported by a recorder
	if _, err := e.w.Write(e.buffer); err != nil {
		return false
	}
	return e.control.Flush() == nil
}
