package chaos

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// hold is a span in which a caller certainly held a permit.
type hold struct {
	from, to time.Duration
	policy   string
	process  int
	shared   bool // granted by a share
	// may is the span when the permit may have been held according to the store. If ended is not 0 and the
	// release reached the store, the permit ended by that time at the latest. If a request for a permit got no
	// answer, only may and ended are set.
	may   span
	ended time.Duration
	// denied is true if the request was denied because no permit was available. may.to is the time of the denial.
	denied bool
}

// holdOf returns what is known about a permit from the answer to the request for it.
func holdOf(a *answer) *hold {
	byShare := a.mode == "fallback"
	h := &hold{policy: a.limit.policy, process: a.process, shared: byShare, may: span{a.sent, a.received + seatLease}}
	switch {
	case a.allowed:
		h.from, h.to = a.received, a.sent+seatLease
	case a.class == "" && !byShare:
		h.denied, h.may.to = true, a.received
	default: // the store may have granted it without answering in time
		if h.may.to += late; a.class == byOther && !byShare {
			h.ended = a.received + undone
		}
	}
	return h
}

// renewed extends the hold after a renewal. class is the class of the renewal's error, or "".
func (h *hold) renewed(sent, received time.Duration, class string) {
	if h.may.to = received + seatLease; class != "" {
		h.may.to += late
		return
	}
	h.to = sent + seatLease
}

// end ends the hold when its release was sent. If the store has confirmed the release, it also sets ended.
func (h *hold) end(sent, received time.Duration, released bool) {
	if h.to = min(h.to, sent); released {
		h.ended = received
	}
}

func (c *callers) keepHold(h *hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds = append(c.holds, *h)
}

// hold acquires permits and releases them until end is called. Some holders renew their permits, and some exit without
// releasing them. A holder whose process has gone works on until its lease ends, while another caller takes its place.
func (c *callers) hold(random *rand.Rand, process int, address, policy string) {
	for !c.stop.Load() {
		time.Sleep(time.Duration(random.Int64N(int64(4 * callerPause))))
		var permit struct {
			Allowed bool   `json:"allowed"`
			ID      string `json:"id"`
			Mode    string `json:"mode"`
		}
		a := answer{limit: &limit{policy: policy, algorithm: seats}, process: process, sent: c.now()}
		_, a.class = c.post(address, "/v1/acquire", map[string]any{"policy": policy, "key": "k0"}, &permit)
		a.received, a.allowed, a.mode = c.now(), permit.Allowed, permit.Mode
		h := holdOf(&a)
		if a.class != "" || !a.allowed {
			c.mu.Lock()
			c.classes[a.class]++
			c.mu.Unlock()
			c.keepHold(h)
			continue
		}
		body := map[string]any{"policy": policy, "key": "k0", "id": permit.ID}
		end, alone := h.from+time.Duration(random.Int64N(int64(3*seatLease/2))), false
		for c.now() < end && !c.stop.Load() && !alone {
			time.Sleep(min(end-c.now(), seatLease/20))
			var renewed struct {
				Held bool `json:"held"`
			}
			sent := c.now()
			if sent >= end {
				break
			}
			status, class := c.post(address, "/v1/renew", body, &renewed)
			if status == http.StatusGone {
				h.to = min(h.to, sent) // the permit had been lost earlier
				break
			}
			if status == http.StatusOK && renewed.Held || class != "" {
				h.renewed(sent, c.now(), class)
			}
			alone = class == gone
		}
		if !alone && random.IntN(5) > 0 {
			sent := c.now()
			status, class := c.post(address, "/v1/release", body, &struct{}{})
			h.end(sent, c.now(), class == "" && status == http.StatusOK)
		}
		c.keepHold(h)
	}
}
