package honest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// policy is a policy of the servers, with what is needed to count its units.
type policy struct {
	name, text string
	limit      int64
	window     time.Duration // of a window by the clock that is checked; 0 if it is longer than a run
}

// way is how a kind of customers calls.
type way struct {
	name      string
	customers int
	sticky    bool          // each customer always asks the same server
	cost      int64         // of each request
	every     time.Duration // between two requests of a customer
	greedy    bool          // asks for as much as passes
}

// seen is what the customers of one way and policy saw.
type seen struct {
	mu       sync.Mutex
	denied   map[int]string // customers that were denied, with the first answer
	wait     time.Duration  // the longest time of a request
	back     time.Duration  // the longest Retry-After of an answer that the store did not decide alone
	inexact  time.Time      // the last answer that the store did not decide alone
	admitted map[string][]admitted
	stated   int64 // the largest excess stated in an answer
}

// admitted is an admitted request of a greedy caller.
type admitted struct {
	sent, received time.Time
	cost           int64
}

// caller sends the requests of one way to a group of servers.
type caller struct {
	group  *group
	policy policy
	way    way
	seen   *seen
	client *http.Client
	turns  []atomic.Int64 // by customer
}

type answer struct {
	Allowed   bool   `json:"allowed"`
	Mode      string `json:"mode"`
	Overshoot int64  `json:"overshoot_max"`
	Detail    string `json:"detail"` // of an error
}

// run sends requests until ctx ends. The customers take turns, spread evenly over the time.
func (c *caller) run(ctx context.Context) {
	const workers = 8
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			pause := c.way.every * workers / time.Duration(c.way.customers)
			ticker := time.NewTicker(max(pause, time.Millisecond))
			defer ticker.Stop()
			for customer := worker % c.way.customers; ; customer = (customer + workers) % c.way.customers {
				select {
				case <-ctx.Done():
					return
				case <-ticker.C:
				}
				c.ask(ctx, customer)
			}
		})
	}
	all.Wait()
}

func (c *caller) ask(ctx context.Context, customer int) {
	key := c.way.name + strconv.Itoa(customer)
	server := int64(customer) + c.turns[customer].Add(1) // each customer asks all servers in turn
	if c.way.sticky {
		h := fnv.New32()
		_, _ = h.Write([]byte(key))
		server = int64(h.Sum32())
	}
	cost := cmp.Or(c.way.cost, 1)
	body := fmt.Sprintf(`{"policy":%q,"key":%q,"cost":%d}`, c.policy.name, key, cost)
	// A request that was begun is not cut off at the end of the run.
	request, _ := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, "http://"+c.group.http[server%int64(len(c.group.http))]+"/v1/allow", strings.NewReader(body))
	sent := time.Now()
	r, err := c.client.Do(request)
	received := time.Now()
	var a answer
	status := "no answer"
	back := time.Duration(0)
	if err == nil {
		_ = json.NewDecoder(r.Body).Decode(&a)
		_ = r.Body.Close()
		status = strings.TrimSpace(strconv.Itoa(r.StatusCode) + " " + a.Detail)
		if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil {
			back = time.Duration(seconds) * time.Second
		}
	}
	c.seen.mu.Lock()
	defer c.seen.mu.Unlock()
	s := c.seen
	s.wait, s.stated = max(s.wait, received.Sub(sent)), max(s.stated, a.Overshoot)
	if a.Mode != "exact" {
		s.inexact = received
	}
	switch {
	case !a.Allowed:
		if a.Mode != "exact" {
			s.back = max(s.back, back)
		}
		if s.denied[customer] == "" {
			s.denied[customer] = status
		}
	case c.way.greedy:
		s.admitted[key] = append(s.admitted[key], admitted{sent, received, cost})
	}
}

// over returns the largest number of units that a greedy caller got beyond its limit in a window.
func (s *seen) over(p policy) (most int64) {
	for _, all := range s.admitted {
		units := map[time.Time]int64{}
		for _, a := range all {
			window := time.Time{}
			if p.window > 0 {
				if window = a.sent.Truncate(p.window); !a.received.Truncate(p.window).Equal(window) {
					continue // decided in one of two windows
				}
			}
			units[window] += a.cost
			most = max(most, units[window]-p.limit)
		}
	}
	return most
}

// wrongly returns the number of customers who were denied. A few may have met a server that was too busy: it answers 503
// if a request's deadline has passed before it could be sent to the store.
func (s *seen) wrongly() (n int) {
	const busy = 3
	errors := 0
	for _, status := range s.denied {
		if strings.HasPrefix(status, "503") {
			errors++
		} else {
			n++
		}
	}
	return n + max(0, errors-busy)
}

// reasons counts the customers that were denied by their first answer, such as "12 (429 12)".
func (s *seen) reasons() string {
	if len(s.denied) == 0 {
		return "0"
	}
	of := map[string]int{}
	for _, status := range s.denied {
		of[status]++
	}
	return fmt.Sprintf("%d %v", len(s.denied), of)
}
