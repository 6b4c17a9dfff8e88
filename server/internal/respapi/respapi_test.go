package respapi_test

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/resp/resptest"
	"github.com/headgate/headgate/server/internal/service"
)

// client is a connection to a server under test.
type client struct {
	conn  net.Conn
	reply *bufio.Reader
}

func open(t *testing.T, s *service.Service) client {
	t.Helper()
	return dial(t, serving(t, s))
}

func dial(t *testing.T, address string) client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
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

// TestErrorsNameUnits checks that errors of the policy commands say "units", like resp.md, and not "cost".
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
