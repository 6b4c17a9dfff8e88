package respapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/resp/resptest"
)

// TestCharges checks that a command with several keys is charged to all of them or to none, and that the reply
// describes each limit.
func TestCharges(t *testing.T) {
	config, err := policy.Parse("p.yaml", []byte(`
policies:
  per-ip: {algorithm: fixed-window, limit: 3, window: 1h}
  plan:   {algorithm: fixed-window, limit: 20, window: 1h, cost: 5}
  off:    {algorithm: fixed-window, limit: 20, window: 1h, enabled: false}
  quiet:  {algorithm: fixed-window, limit: 1, window: 1h, shadow: true}
overrides: [{policy: plan, key: small, set: {limit: 6}}, {policy: plan, key: nobody, deny: true}]
`))
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, newService(t, headgatetest.NewClock(), config.Policies))
	for _, s := range []struct{ words, want string }{
		{"ALLOWALL per-ip a 1 plan acme *", "0 3 2 -1 3600 0: per-ip 0 0 3 2 -1 3600, plan 1 0 20 15 -1 3600"},
		{"PEEKALL per-ip a 1 plan acme 1", "0 3 2 -1 3600 0: per-ip 0 0 3 2 -1 3600, plan 1 0 20 15 -1 3600"},
		{"ALLOWALL per-ip a 1 plan small *", "0 3 1 -1 3600 0: per-ip 0 0 3 1 -1 3600, plan 1 0 6 1 -1 3600"},
		{"ALLOWALL per-ip a 1 plan small *", "1 6 1 3600 3600 0: plan 1 1 6 1 3600 3600, per-ip 0 0 3 1 -1 3600"},
		{"ALLOWALL per-ip a 1 plan nobody *", "1 0 0 -1 0 0: plan 1 1 0 0 -1 0, per-ip 0 0 3 1 -1 3600"},
		{"ALLOWALL plan one 1 plan one 2", "0 20 17 -1 3600 0: plan 0 0 20 17 -1 3600"},
		{"ALLOWALL off a 1 plan acme 1", "0 20 14 -1 3600 0: plan 1 0 20 14 -1 3600, off 0 0 -1 -1 -1 0"},
		{"ALLOWALL quiet a 1", "0 -1 -1 -1 0 0:"},
		{"PEEKALL per-ip a 1 plan acme 1 ATOMIC", "0 3 1 -1 3600 0: per-ip 0 0 3 1 -1 3600, plan 1 0 20 14 -1 3600"},
	} {
		v := c.call(t, strings.Fields("HEADGATE."+s.words)...)
		if v.Kind != resptest.Array || len(v.Items) != 7 {
			t.Fatalf("%s: %+v", s.words, v)
		}
		limits := make([]string, len(v.Items[6].Items))
		for i, l := range v.Items[6].Items {
			limits[i] = l.Items[0].Text + " " + integers(l.Items[1:])
		}
		if got := strings.TrimSuffix(integers(v.Items[:6])+": "+strings.Join(limits, ", "), " "); got != s.want {
			t.Errorf("%s:\n got %s\nwant %s", s.words, got, s.want)
		}
	}
}

func integers(values []resptest.Value) string {
	all := make([]any, len(values))
	for i := range values {
		all[i] = values[i].Int
	}
	return strings.TrimSuffix(fmt.Sprintln(all...), "\n")
}

// TestReserveAll checks that several charges, including a permit, are reserved and renewed together, and settled with
// the actual units of each.
func TestReserveAll(t *testing.T) {
	config, err := policy.Parse("p.yaml", []byte(`
policies:
  requests: {algorithm: fixed-window, limit: 20, window: 1h}
  tokens: {algorithm: fixed-window, limit: 100, window: 1h, estimate_max: capacity}
  calls: {algorithm: concurrency, limit: 1, lease: 60s}
`))
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, newService(t, headgatetest.NewClock(), config.Policies))
	call := strings.Fields("HEADGATE.RESERVEALL requests ann 1 tokens ann 1024 calls org 1")
	first := c.call(t, call...)
	if len(first.Items) != 8 || first.Items[0].Int != 0 || first.Items[7].Text == "" {
		t.Fatalf("%+v", first)
	}
	if second := c.call(t, call...); len(second.Items) != 8 || second.Items[0].Int != 1 || second.Items[7].Kind != resptest.Null {
		t.Errorf("%+v", second)
	}
	handle := first.Items[7].Text
	for _, s := range []struct {
		words string
		want  int64
	}{{"RENEWALL " + handle, 1}, {"COMMIT " + handle + " 1 70 1", 1}, {"COMMIT " + handle + " 0 0 0", 0}, {"RENEWALL " + handle, 0}} {
		if v := c.call(t, strings.Fields("HEADGATE."+s.words)...); v.Kind != resptest.Integer || v.Int != s.want {
			t.Errorf("%.20s: %+v, want %d", s.words, v, s.want)
		}
	}
	for words, want := range map[string]string{
		"COMMIT " + handle + " 1 2": "one for each of the 3 charges",
		"COMMIT " + handle + " -1":  "ERR actual must be",
		"COMMIT " + handle + " 1 x": "ERR charges.1: actual must be",
		"RENEWALL nonsense":         "reservation is",
		"RENEWALL":                  "wrong number of arguments",
	} {
		if v := c.call(t, strings.Fields("HEADGATE."+words)...); v.Kind != resptest.Error || !strings.Contains(v.Text, want) {
			t.Errorf("%.20s: %+v, want %s", words, v, want)
		}
	}
	if v := c.call(t, strings.Fields("HEADGATE.PEEKALL requests ann 1 tokens ann 1 calls org 1")...); integers(v.Items[:6]) != "0 1 1 -1 0 0" {
		t.Errorf("%+v", v)
	}
}
