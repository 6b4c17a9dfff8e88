// Package feed streams each second's counts to the page as server-sent events. It reads the counts once for all
// clients.
//
//	feed.go    the seconds, and the streams that follow them
//	stream.go  one client
package feed

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/headgate/headgate/server/internal/adminapi"
)

const (
	// MaxStreams is the maximum number of concurrent streams. Further streams are refused.
	MaxStreams = 16
	// remembered is the number of past seconds that a new stream receives.
	remembered = 300
	// interval is the time between two readings of the counters.
	interval = time.Second
)

// Config configures a feed. A single goroutine calls all of its functions.
type Config struct {
	// Read returns the counts since its last call.
	Read func(now time.Time) adminapi.Second
	// Stand returns the snapshot for a second: that second's counts, and the program's state. It is called only while
	// there are streams.
	Stand func(s *adminapi.Second, now time.Time) *adminapi.Snapshot
}

// Feed reads the server's counters once a second, however many streams there are. It keeps the last five minutes.
type Feed struct {
	config Config
	end    chan struct{}
	ended  sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	seconds []adminapi.Second
	streams map[*stream]struct{}
}

// stream is one client that follows the feed.
type stream struct {
	// next contains the latest snapshot as JSON. A slow client misses some snapshots.
	next chan []byte
}

// New returns a feed that reads the counters until Close.
func New(c Config) *Feed {
	f := &Feed{config: c, end: make(chan struct{}), streams: map[*stream]struct{}{}}
	f.ended.Go(f.run)
	return f
}

// Close ends the feed and its streams. It is idempotent.
func (f *Feed) Close() {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		close(f.end)
	}
	f.mu.Unlock()
	f.ended.Wait()
}

func (f *Feed) run() {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-f.end:
			return
		case now := <-ticker.C:
			f.tick(now)
		}
	}
}

// tick reads one second's counts and sends a snapshot to each stream. If there are no streams, it only updates the
// history.
func (f *Feed) tick(now time.Time) {
	s := f.config.Read(now)
	f.mu.Lock()
	if len(f.seconds) == remembered {
		f.seconds = append(f.seconds[:0], f.seconds[1:]...)
	}
	f.seconds = append(f.seconds, s)
	followed := len(f.streams) > 0
	f.mu.Unlock()
	if !followed {
		return
	}
	text, err := json.Marshal(f.config.Stand(&s, now))
	if err != nil {
		return // encoding a snapshot cannot fail
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.streams {
		select {
		case <-s.next: // the client has not read it yet
		default:
		}
		s.next <- text
	}
}

// follow starts a stream and returns the past seconds. ok is false if there are too many streams, or if the feed is
// closed.
func (f *Feed) follow() (s *stream, seconds []adminapi.Second, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || len(f.streams) == MaxStreams {
		return nil, nil, false
	}
	s = &stream{next: make(chan []byte, 1)}
	f.streams[s] = struct{}{}
	return s, append([]adminapi.Second{}, f.seconds...), true
}

// leave ends a stream.
func (f *Feed) leave(s *stream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.streams, s)
}
