package chaos

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// hold is a time in which a caller certainly held a permit.
type hold struct {
	from, to time.Duration
	policy   string
	process  int
	shared   bool // a share gave it
}

// hold acquires permits and releases them. Some holders renew their permits, and some end
// without a release.
func (c *callers) hold(random *rand.Rand, process int, address, policy string) {
	for !c.stop.Load() {
		time.Sleep(time.Duration(random.Int64N(int64(4 * callerPause))))
		var permit struct {
			Allowed bool   `json:"allowed"`
			ID      string `json:"id"`
			Mode    string `json:"mode"`
		}
		sent := c.now()
		status, class := c.post(address, "/v1/acquire", map[string]any{"policy": policy, "key": "k0"}, &permit)
		if class != "" {
			c.mu.Lock()
			c.classes[class]++
			c.mu.Unlock()
			continue
		}
		if status != http.StatusOK || !permit.Allowed {
			continue
		}
		h := hold{from: c.now(), to: sent + seatLease, policy: policy, process: process, shared: permit.Mode == "fallback"}
		body := map[string]any{"policy": policy, "key": "k0", "id": permit.ID}
		end := h.from + time.Duration(random.Int64N(int64(3*seatLease/2)))
		for c.now() < end && !c.stop.Load() {
			time.Sleep(min(end-c.now(), seatLease/3))
			var renewed struct {
				Held bool `json:"held"`
			}
			sent = c.now()
			if sent >= end {
				break
			}
			status, _ := c.post(address, "/v1/renew", body, &renewed)
			if status == http.StatusGone {
				h.to = min(h.to, sent) // it was lost some time before
				break
			}
			if status == http.StatusOK && renewed.Held {
				h.to = sent + seatLease
			}
		}
		if random.IntN(5) > 0 {
			h.to = min(h.to, c.now())
			_, _ = c.post(address, "/v1/release", body, &struct{}{})
		}
		c.mu.Lock()
		c.holds = append(c.holds, h)
		c.mu.Unlock()
	}
}
