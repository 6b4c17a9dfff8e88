package chaos

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	processCount   = 3
	callersEach    = 6                     // HTTP callers per process
	callerPause    = 15 * time.Millisecond // average pause between two requests from one caller
	callerPatience = 10 * time.Second      // a caller that waits longer is stuck
)

// answer is a log entry: one request with its answer. Times are measured from the start of the run, with one monotonic
// clock.
type answer struct {
	limit          *limit
	key            string
	process        int
	sent, received time.Duration
	// class is empty if the request was decided. Otherwise it is the class of the error.
	class   string
	allowed bool
	mode    string
	// assumed is true if the protocol does not report the mode. The recorded mode is then the mode expected if no data
	// was lost.
	assumed bool
	// overshoot is the number of units beyond the limit that the answer says may be admitted, or -1 if unlimited.
	overshoot int64
	// reserved is the number of units that were reserved or, for a route, taken. It is 0 for a take, which charges one
	// unit. used is how many of the reserved units were used.
	reserved, used int64
	// beyond is the number of units that a settlement charged beyond its reservation, regardless of the limit.
	beyond int64
	listed bool // part of a list of charges
}

// spent returns the number of units that the caller has used. cost returns the number that may have been charged.
func (a *answer) spent() int64 {
	if a.beyond > 0 {
		return a.beyond
	}
	if a.reserved > 0 {
		return a.used
	}
	return 1
}

func (a *answer) cost() int64 { return max(1, a.reserved, a.beyond) }

// byProgram reports whether a Go program answered, not a server.
func (a *answer) byProgram() bool { return a.process >= waiterProcess }

func (a *answer) fallback() bool { return a.class == "" && a.mode == "fallback" }

// callers sends requests to all processes of a seed and logs the answers.
type callers struct {
	began  time.Time
	client *http.Client
	limits []limit
	// turns lists each limit as many times as its weight. denying lists the limits with failure mode deny.
	turns, denying, reserving []*limit
	// listed contains the limits that are used in lists, by failure mode.
	listed [2][]*limit

	mu      sync.Mutex
	answers []answer
	holds   []hold
	classes map[string]int // the permit holders' errors
	stop    atomic.Bool
	works   sync.WaitGroup
}

// newCallers returns the callers for a seed of the given length. Only long seeds use the bucket to which most units are
// given back.
func newCallers(span time.Duration) *callers {
	c := &callers{
		began: time.Now(), limits: limits(), classes: map[string]int{},
		client: &http.Client{Timeout: callerPatience, Transport: &http.Transport{MaxIdleConnsPerHost: 2 * callersEach}},
	}
	for i := range c.limits {
		if c.limits[i].policy == held && span < 20*time.Second {
			continue
		}
		if c.limits[i].reserved {
			c.reserving = append(c.reserving, &c.limits[i])
			mode := 0
			if c.limits[i].failure == "deny" {
				mode = 1
			}
			c.listed[mode] = append(c.listed[mode], &c.limits[i])
			if c.limits[i].policy == held {
				c.reserving = append(c.reserving, slices.Repeat([]*limit{&c.limits[i]}, 9)...)
			}
		}
		for range c.limits[i].weight {
			c.turns = append(c.turns, &c.limits[i])
			if c.limits[i].failure == "deny" {
				c.denying = append(c.denying, &c.limits[i])
			}
		}
	}
	return c
}

func (c *callers) now() time.Duration { return time.Since(c.began) }

// call runs the callers of a process until end is called. Callers over RESP and gRPC never pause, so that the log shows
// when the store answers again.
func (c *callers) call(process int, p *process, seed uint64) {
	for i := range callersEach {
		random := rand.New(rand.NewPCG(seed, uint64(process*100+i)))
		c.works.Go(func() {
			for !c.stop.Load() {
				if c.rests(random) {
					time.Sleep(callerPause)
					continue
				}
				l, key := c.draw(random, c.turns)
				c.keep(c.take(process, p.http, l, key))
				pause(random)
			}
		})
	}
	random := rand.New(rand.NewPCG(seed, uint64(process*100+99)))
	c.works.Go(func() {
		client := redis.NewClient(&redis.Options{Addr: p.resp, MaxRetries: -1, PoolSize: 1, ReadTimeout: callerPatience, DisableIdentity: true})
		defer func() { _ = client.Close() }()
		for !c.stop.Load() {
			l, key := c.draw(random, c.denying)
			c.keep(c.throttle(client, process, l, key))
			pause(random)
		}
	})
	checks := rand.New(rand.NewPCG(seed, uint64(process*100+98)))
	c.works.Go(func() { c.check(checks, process, p.grpc) })
	for i := range 5 {
		random, policy := rand.New(rand.NewPCG(seed, uint64(process*100+50+i))), seatPolicy
		if i >= 2 {
			policy = shared
		}
		c.works.Go(func() { c.hold(random, process, p.http, policy) })
	}
	for i := range 3 {
		random := rand.New(rand.NewPCG(seed, uint64(process*100+60+i)))
		c.works.Go(func() { c.reserve(random, process, p.http) })
	}
	c.works.Go(func() { c.refund(process, p.http) })
	c.works.Go(func() {
		for few := limitOf(c.limits, scarce); !c.stop.Load(); time.Sleep(callerPause) {
			c.keep(c.take(process, p.http, few, "k0"))
		}
	})
	for i := range 2 {
		random := rand.New(rand.NewPCG(seed, uint64(process*100+70+i)))
		c.works.Go(func() { c.list(random, process, p.http) })
	}
}

// end stops the callers and waits for their last answers.
func (c *callers) end() {
	c.stop.Store(true)
	c.works.Wait()
	c.client.CloseIdleConnections()
}

// rests reports whether a caller pauses now. In the first part of a cycle all callers pause, so that buckets fill. In
// the second part only some pause, so that prefetched units are left over at the end of a window. The cycle's length
// is not a multiple of any window.
func (c *callers) rests(random *rand.Rand) bool {
	switch at := c.now() % (3700 * time.Millisecond); {
	case at < 900*time.Millisecond:
		return true
	case at < 1900*time.Millisecond:
		return random.IntN(5) > 0
	default:
		return false
	}
}

// draw draws a limit and one of its keys. For a prefetched limit, it always draws the same key, so that the key is hot.
func (c *callers) draw(random *rand.Rand, turns []*limit) (l *limit, key string) {
	l = turns[random.IntN(len(turns))]
	if !l.leased && random.IntN(8) == 0 {
		return l, "k1"
	}
	return l, "k0"
}

func (c *callers) keep(a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = append(c.answers, a)
}

func pause(random *rand.Rand) { time.Sleep(time.Duration(random.Int64N(int64(2 * callerPause)))) }

// take charges one unit over HTTP and returns the answer.
func (c *callers) take(process int, address string, l *limit, key string) answer {
	a := answer{limit: l, key: key, process: process, sent: c.now()}
	_ = c.decide(&a, address, "/v1/allow", map[string]any{"policy": l.policy, "key": key})
	return a
}

// decide sends a request over HTTP, sets its answer, and returns its reservation.
func (c *callers) decide(a *answer, address, path string, body map[string]any) (reservation string) {
	var d struct {
		Allowed     bool   `json:"allowed"`
		Mode        string `json:"mode"`
		Overshoot   *int64 `json:"overshoot_max"`
		Reservation string `json:"reservation"`
	}
	_, class := c.post(address, path, body, &d)
	a.received = c.now()
	if a.class = class; class == "" {
		a.allowed, a.mode, a.overshoot = d.Allowed, d.Mode, -1
		if d.Overshoot != nil {
			a.overshoot = *d.Overshoot
		}
	}
	return d.Reservation
}

// post sends a body and reads the answer. class is empty if there was a decision.
func (c *callers) post(address, path string, body map[string]any, into any) (status int, class string) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, err.Error()
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://"+address+path, bytes.NewReader(text))
	if err != nil {
		return 0, err.Error()
	}
	response, err := c.client.Do(r)
	if err != nil {
		return 0, classOf(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err = io.ReadAll(response.Body)
	if err != nil {
		return 0, classOf(err)
	}
	switch status := response.StatusCode; {
	case status >= http.StatusInternalServerError:
		return status, serverClass(string(text))
	case status != http.StatusOK && status != http.StatusTooManyRequests && status != http.StatusGone: // 410: no permit or reservation any more
		return status, invalid + http.StatusText(status)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return response.StatusCode, "not JSON"
	}
	return response.StatusCode, ""
}

// invalid begins the class of a response that says that the request is wrong.
const invalid = "invalid: "

// serverClass returns the class of the store error in a server's response. The class is at the end of the text.
func serverClass(text string) string {
	if strings.HasPrefix(text, "ERR ") {
		return invalid + text
	}
	_, class, _ := strings.Cut(text, "could not decide: ")
	class = strings.TrimSpace(strings.SplitN(class, `"`, 2)[0])
	return cmp.Or(class, "unavailable")
}

// throttle sends a request over RESP, which does not report the mode. It is used for policies that a process never
// decides on its own.
func (c *callers) throttle(client *redis.Client, process int, l *limit, key string) answer {
	a := answer{limit: l, key: key, process: process, sent: c.now()}
	words, err := client.Do(context.Background(), "HEADGATE.ALLOW", l.policy, key).Int64Slice()
	a.received = c.now()
	switch {
	case err != nil:
		a.class = classOf(err)
	case len(words) != 6:
		a.class = "not six integers"
	default:
		a.allowed, a.mode, a.assumed = words[0] == 0, "exact", true
	}
	return a
}

// gone is the class of a request to a process that is not there.
const gone = "no process"

// classOf returns the class of an error that a caller got instead of an answer, for answer.class.
func classOf(err error) string {
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return "stuck"
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE):
		return gone
	default:
		return serverClass(err.Error())
	}
}
