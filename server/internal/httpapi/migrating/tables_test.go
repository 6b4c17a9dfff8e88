// Package migrating computes the tables of the pages about Guava and Spring Cloud Gateway with the HTTP API.
package migrating

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/httpapi"
	"github.com/headgate/headgate/server/internal/service"
)

// table returns the cells, row by row, of the page's table with the given columns. If there are several such tables,
// the number argument selects one, counting from 1.
func table(t *testing.T, page string, number int, columns string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "\n"+columns+"\n")
	if len(parts) <= number {
		t.Fatalf("%s has no table %d of %s", page, number, columns)
	}
	lines := strings.Split(parts[number], "\n")[1:] // without the line of dashes
	for _, line := range lines {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) == 0 {
		t.Fatal("the table is empty")
	}
	return rows
}

// onClock returns an in-memory limiter and its clock, which the test sets. The clock starts at a whole second.
func onClock(t *testing.T) (*headgate.Limiter, *headgatetest.Clock) {
	t.Helper()
	clock := headgatetest.NewClock()
	clock.Set(time.Unix(1_800_000_000, 0))
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return headgate.New(headgate.WithStore(store)), clock
}

// api is the HTTP API of an in-memory service.
type api struct {
	t       *testing.T
	service *service.Service
	handler http.Handler
	clock   *headgatetest.Clock
}

func newAPI(t *testing.T, policies string) *api {
	t.Helper()
	limiter, clock := onClock(t)
	s := service.New(service.Config{Limiter: limiter.Core(), Policies: parse(t, policies).Policies})
	return &api{t: t, service: s, handler: httpapi.New(s), clock: clock}
}

func parse(t *testing.T, policies string) *policy.Config {
	t.Helper()
	config, err := policy.Parse("policies.yaml", []byte(policies))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// post sends a request and decodes the response.
func (a *api) post(path, body string, answer any) *httptest.ResponseRecorder {
	a.t.Helper()
	w := httptest.NewRecorder()
	a.handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	if err := json.NewDecoder(bytes.NewReader(w.Body.Bytes())).Decode(answer); err != nil || w.Code != http.StatusOK && w.Code != http.StatusTooManyRequests {
		a.t.Fatal(w.Code, w.Body, err)
	}
	return w
}

// guava does the arithmetic that Guava documents for SmoothBursty. The part of a request's cost that exceeds the
// stored permits delays the next request. Idle time stores permits, up to one second's worth.
type guava struct{ rate, stored, free float64 }

func (g *guava) acquire(now, permits, longest float64) (wait float64, ok bool) {
	if wait = max(0, g.free-now); wait > longest+1e-9 {
		return 0, false
	}
	g.settle(now)
	fresh := max(0, permits-g.stored)
	g.stored -= permits - fresh
	g.free += fresh / g.rate
	return wait, true
}

func (g *guava) settle(now float64) {
	if now > g.free {
		g.stored, g.free = min(g.rate, g.stored+(now-g.free)*g.rate), now
	}
}

func (g *guava) setRate(now, rate float64) {
	g.settle(now)
	g.stored, g.rate = g.stored*rate/g.rate, rate
}

func guavaPolicy(rate int) string {
	return fmt.Sprintf("policies: {calls: {algorithm: token-bucket, rate: %d/s, burst: %d, next_pays: true}}", rate, rate)
}

// TestGuavaTable computes both results in each row of docs/migrating-from-guava.md.
func TestGuavaTable(t *testing.T) {
	t.Parallel()
	for _, row := range table(t, "../../../../docs/migrating-from-guava.md", 1, "| rate | requests | Guava | Headgate |") {
		t.Run(row[0]+" a second: "+row[1], func(t *testing.T) {
			var rate int
			if _, err := fmt.Sscan(row[0], &rate); err != nil {
				t.Fatal(err)
			}
			if got := guavaAnswers(t, rate, row[1]); got != row[2] {
				t.Errorf("Guava waits %s, the page says %s", got, row[2])
			}
			if got := headgateAnswers(t, rate, row[1]); got != row[3] {
				t.Errorf("Headgate waits %s, the page says %s", got, row[3])
			}
		})
	}
}

// forever is the longest wait that acquire accepts, in seconds.
const forever = 1e6

// each calls a function for each step in a row. "7" and "try 0.2" request permits. The other steps are verbs.
func each(t *testing.T, steps string, ask func(permits, longest float64) string, do func(verb string, x float64)) string {
	t.Helper()
	var answers []string
	for step := range strings.SplitSeq(steps, ", ") {
		verb, x := "acquire", 0.0
		if _, err := fmt.Sscan(step, &x); err != nil {
			if _, err := fmt.Sscan(step, &verb, &x); err != nil {
				t.Fatal(step, err)
			}
		}
		switch verb {
		case "acquire":
			answers = append(answers, ask(x, forever))
		case "try":
			answers = append(answers, ask(1, x))
		default:
			do(verb, x)
		}
	}
	return strings.Join(answers, ", ")
}

// inSeconds formats a wait without floating-point noise.
func inSeconds(wait float64) string { return fmt.Sprint(float64(int64(wait*1e6+0.5)) / 1e6) }

func guavaAnswers(t *testing.T, rate int, steps string) string {
	g, now := &guava{rate: float64(rate)}, 0.0
	return each(t, steps, func(permits, longest float64) string {
		wait, ok := g.acquire(now, permits, longest)
		if !ok {
			return "no"
		}
		now += wait
		return inSeconds(wait)
	}, func(verb string, x float64) {
		switch verb {
		case "sleep":
			now += x
		case "rate":
			g.setRate(now, x)
		default:
			t.Fatal(verb)
		}
	})
}

func headgateAnswers(t *testing.T, rate int, steps string) string {
	a := newAPI(t, guavaPolicy(rate))
	var answer struct {
		Allowed bool  `json:"allowed"`
		Delay   int64 `json:"delay_ms"`
	}
	reserve := func(permits, longest float64) string {
		body := fmt.Sprintf(`{"policy":"calls","key":"k","cost":%d,"max_delay_ms":%d}`, int64(permits), int64(longest*1000))
		if a.post("/v1/reserve", body, &answer); !answer.Allowed {
			return "no"
		}
		wait := time.Duration(answer.Delay) * time.Millisecond
		a.clock.Advance(wait)
		return inSeconds(wait.Seconds())
	}
	reserve(float64(rate), 0) // Guava starts without stored permits
	return each(t, steps, reserve, func(verb string, x float64) {
		switch verb {
		case "sleep":
			a.clock.Advance(time.Duration(x * float64(time.Second)))
		case "rate":
			a.service.SetPolicies(parse(t, guavaPolicy(int(x))).Policies, nil)
		default:
			t.Fatal(verb)
		}
	})
}
