package fallback

import (
	"sync"
	"time"

	"github.com/headgate/headgate/layer/membership"
)

// settled is how long the number of processes must not have changed.
const settled = time.Minute

// processes is the number of processes that share the limits, as known from the beats: the last number, if it has not
// changed for a minute of contact with the store. Otherwise processes may be starting, or rejoining after a loss, so it
// is expect, or the largest number since it was last stable if that is larger.
type processes struct {
	expect int
	clock  func() time.Time

	mu      sync.Mutex
	number  int // from the last beat; 0 before the first
	beat    time.Time
	same    time.Duration // contact during which the number has not changed
	largest int           // since the number was last stable
	stable  bool          // whether the number was ever stable
}

// observe stores the number of processes from a beat.
func (p *processes) observe(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock()
	if number != p.number {
		p.number, p.same = number, 0
	} else {
		p.same += min(now.Sub(p.beat), 2*membership.Interval) // without beats between them there was no contact
	}
	p.beat, p.largest = now, max(p.largest, number)
	if p.same >= settled {
		p.largest, p.stable = number, true
	}
}

// count returns the number of processes that share the limits. It returns 0 if it is not known: expect is 0, and the
// number was never stable. more reports whether there may be fewer processes than expect, so that new ones may have
// other shares than those before them.
func (p *processes) count() (n int64, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch more = p.expect > p.number; {
	case p.same >= settled:
		return int64(p.number), more
	case p.expect == 0 && !p.stable:
		return 0, false
	default:
		return int64(max(p.largest, p.expect)), more
	}
}
