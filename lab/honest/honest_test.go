package honest

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

var (
	allFaults = flag.Bool("all", false, "all faults, and eight servers too")
	away      = flag.Duration("away", 3*time.Second, "how long each fault lasts")
)

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

// settings are a number of servers, and the policies that they share.
type settings struct {
	servers  int
	policies []policy
}

var (
	three = settings{3, []policy{
		{"second", "{algorithm: fixed-window, limit: 10, window: 1s, align: clock}", 10, time.Second},
		{"day", "{algorithm: fixed-window, limit: 100, window: 1d, align: UTC}", 100, 0},
		{"month", "{algorithm: fixed-window, limit: 1000, window: 1mo, align: UTC}", 1000, 0},
	}}
	eight = settings{8, []policy{{"sign-in", "{algorithm: sliding-log, limit: 5, window: 15m}", 5, 0}}}
)

// TestHonestCustomers checks that no customer who keeps within the limits is denied in an outage of seconds, if its
// requests are spread over the servers, and that greedy callers exceed the limits by no more than the answers state. It
// logs a table of what everybody saw. With -all it adds faults, ways to call, customers and eight servers.
func TestHonestCustomers(t *testing.T) {
	var table strings.Builder
	table.WriteString("| Redis | policy | customers | denied wrongly | units over (stated) | longest wait | longest Retry-After | exact again after | log; store_up, doubted |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, f := range faults {
		for _, s := range []settings{three, eight} {
			if !*allFaults && (!f.quick || s.servers == eight.servers) {
				continue
			}
			t.Run(fmt.Sprintf("%s, %d servers", f.name, s.servers), func(t *testing.T) { table.WriteString(measure(t, f, s)) })
		}
	}
	t.Log("\n" + table.String())
}

// ways returns how customers call during a fault.
func ways() []way {
	every := max(1500*time.Millisecond, *away/20)
	customers := 200
	if *allFaults {
		customers = 1000
	}
	all := []way{
		{name: "spread", customers: customers, every: every},
		{name: "greedy", customers: 3, every: 30 * time.Millisecond, greedy: true},
	}
	if *allFaults {
		all = append(all, way{name: "sticky", customers: 100, every: every / 2, sticky: true}, way{name: "costly", customers: 100, every: 10 * every, cost: 40})
	}
	return all
}

// recovered reports whether every customer has called since the end of the fault and since the last answer that the store
// did not decide alone.
func recovered(callers []*caller, ended time.Time) bool {
	last, longest := ended, time.Duration(0)
	for _, c := range callers {
		c.seen.mu.Lock()
		if c.seen.inexact.After(last) {
			last = c.seen.inexact
		}
		c.seen.mu.Unlock()
		longest = max(longest, c.way.every)
	}
	return time.Since(last) > longest+500*time.Millisecond
}

func measure(t *testing.T, f fault, s settings) string {
	store, begin, end := f.setUp(t)
	text := "policies:\n"
	for _, p := range s.policies {
		text += "  " + p.name + ": " + p.text + "\n"
	}
	g := start(t, s.servers, store, text)
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	defer transport.CloseIdleConnections()
	ctx, stop := context.WithCancel(t.Context())
	var callers []*caller
	var running sync.WaitGroup
	for _, p := range s.policies {
		for _, w := range ways() {
			if w.cost > p.limit || p.name == "sign-in" && w.name == "sticky" {
				continue
			}
			if p.name == "sign-in" && !w.greedy {
				w.every = max(5*time.Second, *away) // few sign-ins
			}
			c := &caller{group: g, policy: p, way: w, seen: &seen{denied: map[int]string{}, admitted: map[string][]admitted{}}, client: &http.Client{Transport: transport}, turns: make([]atomic.Int64, w.customers)}
			callers = append(callers, c)
			running.Go(func() { c.run(ctx) })
		}
	}
	time.Sleep(2 * time.Second)
	begin()
	time.Sleep(*away)
	up := metric(g.admin[0], "headgate_store_up")
	end()
	ended := time.Now()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for time.Since(ended) < recovers && !recovered(callers, ended) {
		<-poll.C
	}
	doubted := metric(g.admin[0], "headgate_fallback_doubted")
	stop()
	running.Wait()
	var rows strings.Builder
	for _, c := range callers {
		denied := c.seen.reasons()
		over := c.seen.over(c.policy)
		if c.way.name == "spread" && c.seen.wrongly() > 0 && *away <= 10*time.Second {
			t.Errorf("%s, %s: %s of %d customers were denied wrongly", f.name, c.policy.name, denied, c.way.customers)
		}
		if c.way.greedy {
			denied = "–"
			if over > c.seen.stated {
				t.Errorf("%s, %s: %d units over, the answers state %d", f.name, c.policy.name, over, c.seen.stated)
			}
		}
		exact := max(0, c.seen.inexact.Sub(ended)).Round(10 * time.Millisecond).String()
		if c.seen.inexact.Sub(ended) > recovers-time.Second {
			exact = "not yet"
		}
		fmt.Fprintf(&rows, "| %s | %s | %d %s | %s | %d (%d) | %s | %s | %s | %s; %g, %g |\n", f.name, c.policy.name, c.way.customers, c.way.name, denied, over, c.seen.stated,
			c.seen.wait.Round(time.Millisecond), c.seen.back, exact, strings.Join(g.said(), ", "), up, doubted)
	}
	return rows.String()
}
