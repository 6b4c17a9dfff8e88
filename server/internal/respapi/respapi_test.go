package respapi_test

import (
	"bufio"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/resp/resptest"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/service/servicetest"
)

// client is a connection to a server under test.
type client struct {
	conn  net.Conn
	reply *bufio.Reader
}

func open(t *testing.T, s *service.Service) client {
	t.Helper()
	conn, err := net.Dial("tcp", serving(t, s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return client{conn: conn, reply: bufio.NewReader(conn)}
}

// call sends a command and returns the reply.
func (c client) call(t *testing.T, words ...string) resptest.Value {
	t.Helper()
	if _, err := c.conn.Write(resptest.AppendCommand(nil, words...)); err != nil {
		t.Fatal(err)
	}
	v, err := resptest.Read(c.reply)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Do implements servicetest.Front.
func (c client) Do(t *testing.T, r servicetest.Request) servicetest.Answer {
	t.Helper()
	v := c.call(t, commandOf(r)...)
	if v.Kind == resptest.Error {
		return servicetest.Answer{Failed: true, Code: codeOf(t, v.Text)}
	}
	switch r.Kind {
	case engine.OpReset, engine.OpSettle, engine.OpRelease:
		return servicetest.Answer{Found: v.Int == 1}
	case engine.OpRenew:
		return servicetest.Answer{Allowed: v.Int == 1}
	case engine.OpGive:
		return servicetest.Answer{Remaining: v.Int}
	}
	n := func(i int) int64 { return v.Items[i].Int }
	a := servicetest.Answer{Allowed: n(0) == 0, Limit: n(1), Remaining: n(2), ResetSeconds: n(4)}
	if len(v.Items) >= 6 {
		a.DelayMillis = n(5)
	}
	if r.Charges != nil {
		a.Limits = limitsOf(v.Items[6].Items)
		v.Items = slices.Delete(v.Items, 6, 7)
	}
	switch {
	case len(v.Items) == 7 && r.Kind <= engine.OpPeek:
		a.Paid = v.Items[6].Text
	case len(v.Items) >= 7:
		a.Handle = v.Items[6].Text
	}
	if len(v.Items) == 8 && r.Kind == engine.OpAcquire {
		a.LeaseMillis = n(7)
	}
	if n(1) < 0 {
		a.Unlimited, a.Limit, a.Remaining = true, 0, 0
	}
	if !a.Allowed {
		if a.RetrySeconds = n(3); n(3) < 0 {
			a.Never, a.RetrySeconds = true, 0
		}
	}
	return a
}

// limitsOf returns the part of a reply about the limits of several charges.
func limitsOf(limits []resptest.Value) string {
	var texts []string
	for _, l := range limits {
		if of := l.Items; of[3].Int >= 0 { // −1 means that no limit applies
			texts = append(texts, servicetest.LimitText(of[0].Text, int(of[1].Int), of[4].Int))
		}
	}
	return servicetest.LimitsText(0, texts)
}

func commandOf(r servicetest.Request) []string {
	text := func(n int64) string { return strconv.FormatInt(n, 10) }
	switch {
	case r.Used != nil:
		words := []string{"HEADGATE.COMMIT", r.Handle}
		if r.Reports {
			words[0] = "HEADGATE.REPORT"
		}
		for _, used := range r.Used {
			words = append(words, text(used))
		}
		return words
	case r.Charges != nil:
		words := []string{"HEADGATE." + strings.ToUpper(r.Kind.String()) + "ALL"}
		for _, c := range r.Charges {
			units := "*"
			if c.Cost >= 0 {
				units = text(c.Cost)
			}
			words = append(words, c.Policy, c.Key, units)
		}
		return append(words, classOf(r)...)
	case r.Commits:
		return []string{"HEADGATE.COMMIT", r.Handle, text(r.Cost)}
	case r.Kind == engine.OpSettle:
		return []string{"HEADGATE.CANCEL", r.Handle}
	case r.Kind == engine.OpRenew || r.Kind == engine.OpRelease:
		return []string{"HEADGATE." + strings.ToUpper(r.Kind.String()), r.Policy, r.Key, r.Handle}
	case r.Policy == "" && r.Kind == engine.OpReset:
		return []string{"DEL", r.Key}
	case r.Policy == "":
		return []string{"CL.THROTTLE", r.Key, text(r.Throttle[0] - 1), text(r.Throttle[1]), text(r.Throttle[2]), text(r.Cost)}
	}
	words := []string{"HEADGATE." + strings.ToUpper(r.Kind.String()), r.Policy, r.Key}
	if r.Cost >= 0 {
		words = append(words, text(r.Cost))
	}
	if r.Kind == engine.OpReserve && r.MaxDelay >= 0 {
		words = append(words, text(r.MaxDelay))
	}
	return append(words, classOf(r)...)
}

func classOf(r servicetest.Request) []string {
	if r.Class == "" {
		return nil
	}
	return []string{"CLASS", r.Class}
}

func codeOf(t *testing.T, text string) service.Code {
	t.Helper()
	switch {
	case strings.HasPrefix(text, "UNAVAILABLE "):
		return service.Unavailable
	case strings.HasPrefix(text, "WRONGVERB "):
		return service.WrongVerb
	}
	if !strings.HasPrefix(text, "ERR ") {
		t.Errorf("error %q does not begin with ERR", text)
	}
	for part, code := range map[string]service.Code{
		"no policy": service.NotFound, "--allow-writes": service.Forbidden,
		"count per period must be": service.WrongVerb, "key must be": service.Invalid, "reservation is not one": service.Invalid, "reservation is without a term": service.Invalid,
		"id must be": service.Invalid, "accepted: 1 or more": service.Invalid,
	} {
		if strings.Contains(text, part) {
			return code
		}
	}
	t.Errorf("unexpected error %q", text)
	return 0
}

func TestRESPAnswersAsTheServiceDoes(t *testing.T) {
	servicetest.Run(t, func(t *testing.T, s *service.Service) servicetest.Front { return open(t, s) })
}

func newService(t *testing.T, clock *headgatetest.Clock, policies *policy.Set) *service.Service {
	t.Helper()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	return service.New(service.Config{Limiter: core.New(core.Config{Store: store}), Policies: policies, AllowWrites: true})
}

// ints returns the integers in an array, or the single integer.
func ints(v resptest.Value) []int64 {
	if v.Kind == resptest.Integer {
		return []int64{v.Int}
	}
	var all []int64
	for _, item := range v.Items {
		all = append(all, item.Int)
	}
	return all
}

// TestReserveTellsMillisecondsUntilRetry checks that a denied reserve returns its wait in milliseconds and in
// seconds, both rounded up.
func TestReserveTellsMillisecondsUntilRetry(t *testing.T) {
	clock := headgatetest.NewClock()
	config, err := policy.Parse("x.yaml", []byte("policies: {window: {algorithm: fixed-window, limit: 2, window: 10s}}"))
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, newService(t, clock, config.Policies))
	for i, want := range []struct {
		after          time.Duration
		units          string
		denied, s, ms  int64
		hasReservation bool
	}{
		{0, "2", 0, -1, -1, true},
		{1499600 * time.Microsecond, "1", 1, 9, 8501, false},
		{8200 * time.Millisecond, "1", 1, 1, 301, false},
		{0, "3", 1, -1, -1, false},
		{301 * time.Millisecond, "1", 0, -1, -1, true},
	} {
		clock.Advance(want.after)
		v := c.call(t, "HEADGATE.RESERVE", "window", "k", want.units)
		if len(v.Items) != 8 {
			t.Fatalf("reserve %d: %+v", i, v)
		}
		if n := ints(v); n[0] != want.denied || n[3] != want.s || n[7] != want.ms || (v.Items[6].Text != "") != want.hasReservation {
			t.Errorf("reserve %d: %+v, want %+v", i, v, want)
		}
	}
}

// TestErrorsNameUnits checks that errors of the policy commands say "units", like COMMAND DOCS, and not "cost".
func TestErrorsNameUnits(t *testing.T) {
	config, err := policy.Parse("x.yaml", []byte("policies: {window: {algorithm: fixed-window, limit: 2, window: 10s}, jobs: {algorithm: concurrency, limit: 2}}"))
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, newService(t, headgatetest.NewClock(), config.Policies))
	for words, want := range map[string]string{
		"HEADGATE.GIVE window u -1":   "ERR units must be an integer from 0 to 9223372036854775807",
		"HEADGATE.RESERVE window u 0": "ERR units is 0; accepted: 1 or more",
		"HEADGATE.ACQUIRE jobs u 0":   "ERR units is 0; accepted: 1 or more",
	} {
		if got := c.call(t, strings.Fields(words)...); !strings.HasPrefix(got.Text, want) {
			t.Errorf("%s: %q, want %q", words, got.Text, want)
		}
	}
}
