package respapi_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/resp/resptest"
	"github.com/headgate/headgate/server/internal/respapi"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/verbs"
)

// TestThrottleReplies compares the integers in the replies to CL.THROTTLE, EXISTS, TTL, PTTL, DEL and UNLINK.
func TestThrottleReplies(t *testing.T) {
	clock := headgatetest.NewClock()
	c := open(t, newService(t, clock, nil))
	for i, s := range []struct {
		after time.Duration
		words string
		want  []int64
	}{
		{0, "CL.THROTTLE laoqian:reply 15 30 60 1", []int64{0, 16, 15, -1, 2}},
		{0, "cl.throttle laoqian:reply 15 30 60", []int64{0, 16, 14, -1, 4}},
		{0, "CL.THROTTLE laoqian:reply 15 30 60 17", []int64{1, 16, 14, -1, 4}},
		{0, "CL.THROTTLE laoqian:reply 15 30 60 0", []int64{0, 16, 14, -1, 4}},
		{0, "CL.THROTTLE laoqian:reply 15 30 60 15", []int64{1, 16, 14, 2, 4}},
		{0, "EXISTS laoqian:reply nobody laoqian:reply", []int64{2}},
		{0, "TTL laoqian:reply", []int64{4}},
		{500 * time.Millisecond, "PTTL laoqian:reply", []int64{3500}},
		{0, "TTL nobody", []int64{-2}},
		{0, "PTTL nobody", []int64{-2}},
		{0, "DEL laoqian:reply nobody", []int64{1}},
		{0, "UNLINK laoqian:reply", []int64{0}},
		{0, "CL.THROTTLE laoqian:reply 15 30 60 1", []int64{0, 16, 15, -1, 2}},
		// Regression: bugs 13 and 14. A refill of a third of a unit is not rounded away.
		{0, "CL.THROTTLE thirds 0 3 1 1", []int64{0, 1, 0, -1, 1}},
		{333333 * time.Microsecond, "CL.THROTTLE thirds 0 3 1 1", []int64{1, 1, 0, 1, 1}},
		{time.Microsecond, "CL.THROTTLE thirds 0 3 1 1", []int64{0, 1, 0, -1, 1}},
		// redis-cell cannot enforce a rate this high.
		{0, "CL.THROTTLE fast 0 6000 1 1", []int64{0, 1, 0, -1, 1}},
		{0, "CL.THROTTLE fast 0 6000 1 1", []int64{1, 1, 0, 1, 1}},
		{167 * time.Microsecond, "CL.THROTTLE fast 0 6000 1 1", []int64{0, 1, 0, -1, 1}},
	} {
		clock.Advance(s.after)
		if got := ints(c.call(t, strings.Fields(s.words)...)); !slices.Equal(got, s.want) {
			t.Errorf("step %d: %s = %v, want %v", i, s.words, got, s.want)
		}
	}
}

// TestErrorsNameTheArgument checks that an error names the argument, and that nothing changes.
func TestErrorsNameTheArgument(t *testing.T) {
	c := open(t, newService(t, headgatetest.NewClock(), nil))
	for words, want := range map[string]string{
		"CL.THROTTLE k 15 30":                              "ERR wrong number of arguments for 'cl.throttle' command",
		"CL.THROTTLE k 15 30 60 1 1":                       "ERR wrong number of arguments for 'cl.throttle' command",
		"CL.THROTTLE k -1 30 60":                           "ERR max_burst must be an integer from 0 to 281474976710654",
		"CL.THROTTLE k x 30 60":                            "ERR max_burst must be an integer from 0 to 281474976710654",
		"CL.THROTTLE k 281474976710655 30 60":              "ERR max_burst must be an integer from 0 to 281474976710654",
		"CL.THROTTLE k 15 0 60":                            "ERR count per period must be an integer from 1 to 281474976710655",
		"CL.THROTTLE k 15 9223372036854775808 60":          "ERR count per period must be an integer from 1 to 281474976710655",
		"CL.THROTTLE k 15 0x1 60":                          "ERR count per period must be an integer from 1 to 281474976710655",
		"CL.THROTTLE k 15 30 0":                            "ERR period must be an integer from 1 to 3155760000",
		"CL.THROTTLE k 15 30 3155760001":                   "ERR period must be an integer from 1 to 3155760000",
		"CL.THROTTLE k 15 30 60 -1":                        "ERR quantity must be an integer from 0 to 9223372036854775807",
		"CL.THROTTLE k 15 30 60 +1":                        "ERR quantity must be an integer from 0 to 9223372036854775807",
		"CL.THROTTLE k 15 30 60 1.5":                       "ERR quantity must be an integer from 0 to 9223372036854775807",
		"CL.THROTTLE k 281474976710654 1 60":               "ERR max_burst, count and period: burst is 281474976710655; accepted: a burst that refills within 36525d at 1/1m",
		"HEADGATE.ALLOW nope k":                            "ERR no policy \"nope\"",
		"HEADGATE.ALLOWALL api k":                          "ERR wrong number of arguments for 'headgate.allowall' command",
		"HEADGATE.ALLOWALL api k 1 api k":                  "ERR wrong number of arguments for 'headgate.allowall' command",
		"HEADGATE.ALLOWALL" + strings.Repeat(" a k 1", 33): "ERR charges must be 1 to 32, each a policy, a key and units",
		"HEADGATE.ALLOWALL nope k 1":                       `ERR charges.0: no policy "nope"`,
		"HEADGATE.PEEKALL nope k 1 nope k x":               "ERR charges.1: units must be an integer from 0 to 9223372036854775807",
		"HEADGATE.ALLOW nope k 1 2":                        "ERR wrong number of arguments for 'headgate.allow' command",
		"HEADGATE.ALLOW nope k x":                          "ERR units must be an integer from 0 to 9223372036854775807",
		"HEADGATE.RESET nope":                              "ERR wrong number of arguments for 'headgate.reset' command",
		"GET k":                                            "ERR unknown command 'GET'",
		"TTL " + strings.Repeat("k", 1025):                 "ERR key must be 1 to 1024 bytes",
	} {
		if got := c.call(t, strings.Fields(words)...); got.Text != want {
			t.Errorf("%s = %q, want %q", words, got.Text, want)
		}
	}
	if got := ints(c.call(t, "EXISTS", "k")); !slices.Equal(got, []int64{0}) {
		t.Errorf("an error left a key: EXISTS k = %v", got)
	}
	if got := c.call(t, "CL.THROTTLE", "", "1", "1", "1"); got.Text != "ERR key must be 1 to 1024 bytes" {
		t.Errorf("empty key: %q", got.Text)
	}
	if got := c.call(t, "HEADGATE.ALLOW", "", "k"); got.Text != "ERR policy must be the name of a policy" {
		t.Errorf("empty policy: %q", got.Text)
	}
}

// TestKeyCommandsFailInAnOutage checks that DEL, UNLINK, EXISTS, TTL and PTTL return errors if the store does not
// answer, even if failure: allow answers CL.THROTTLE.
func TestKeyCommandsFailInAnOutage(t *testing.T) {
	store, err := memstore.New(memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	limiter := core.New(core.Config{Store: awayStore{store}})
	t.Cleanup(func() { limiter.Close() })
	c := open(t, service.New(service.Config{Limiter: limiter, Failure: policy.Allow, AllowWrites: true}))
	if got := ints(c.call(t, "CL.THROTTLE", "k", "15", "30", "60")); !slices.Equal(got, []int64{0, -1, -1, -1, 0}) {
		t.Errorf("CL.THROTTLE = %v, want it allowed without a limit", got)
	}
	for _, words := range []string{"DEL k", "UNLINK k other", "EXISTS k", "TTL k", "PTTL k"} {
		if got := c.call(t, strings.Fields(words)...); !strings.HasPrefix(got.Text, "UNAVAILABLE ") {
			t.Errorf("%s = %+v, want UNAVAILABLE", words, got)
		}
	}
}

// awayStore fails every operation, like a store whose server is unreachable.
type awayStore struct{ engine.Store }

func (awayStore) Do(_ context.Context, _ []engine.Op, results []engine.Answer) {
	for i := range results {
		results[i].Err = headgate.ErrStoreUnavailable
	}
}

// TestScriptsSayWhatToSend checks that the error for a script names the command to send instead (regression: bug 186).
func TestScriptsSayWhatToSend(t *testing.T) {
	c := open(t, newService(t, headgatetest.NewClock(), nil))
	for _, words := range [][]string{
		{"EVAL", "return redis.call('CL.THROTTLE', KEYS[1], ARGV[1], ARGV[2], ARGV[3])", "1", "k", "15", "30", "60"},
		{"EVALSHA", "a5ca2e3bc8fe5ff2ab1cf8de8d8af0bf2a7c3e0d", "1", "k"},
		{"SCRIPT", "LOAD", "return 0"},
		{"eval"},
	} {
		if v := c.call(t, words...); v.Kind != resptest.Error || !strings.HasPrefix(v.Text, "ERR this server runs no Lua") || !strings.Contains(v.Text, "CL.THROTTLE key max_burst count period [quantity]") {
			t.Errorf("%q: %+v", words, v)
		}
	}
	if v := c.call(t, "EXISTS", "k"); v.Int != 0 {
		t.Error("a refused script charged the key")
	}
}

// TestThePageHasEveryCommand checks that resp.md has each command with its arguments.
func TestThePageHasEveryCommand(t *testing.T) {
	data, err := os.ReadFile("../../../docs/reference/resp.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(data), "…", "...")
	usages := map[string]string{
		"cl.throttle": "key max_burst count period [quantity]", "del": "key [key ...]", "unlink": "key [key ...]", "exists": "key [key ...]", "ttl": "key", "pttl": "key",
		"eval": "", "evalsha": "", "script": "",
	}
	for i := range verbs.All {
		for j := range verbs.All[i].Forms {
			form := &verbs.All[i].Forms[j]
			usages[form.Command] = argumentsOf(form)
		}
	}
	for _, c := range respapi.Commands() {
		arguments, known := usages[c.Name]
		usage := strings.TrimSpace(strings.ToUpper(c.Name) + " " + arguments)
		if !known || !strings.Contains(page, usage+"\n") && !strings.Contains(page, usage+",") && !strings.Contains(page, "`"+usage+"`") {
			t.Errorf("resp.md does not have %s", usage)
		}
	}
}

// TestCommandNames checks that the server finds each command by its name, and that no two have one: the reply to COMMAND
// has all of them, and those of connections.
func TestCommandNames(t *testing.T) {
	c := open(t, newService(t, headgatetest.NewClock(), nil))
	const ofConnections = 13
	if got, want := len(c.call(t, "COMMAND").Items), len(respapi.Commands())+ofConnections; got != want {
		t.Errorf("%d commands, want %d", got, want)
	}
	for _, command := range respapi.Commands() {
		if v := c.call(t, strings.ToUpper(command.Name)); strings.Contains(v.Text, "unknown command") || len(command.Name) > 64 {
			t.Errorf("%s: %+v", command.Name, v)
		}
	}
}

// argumentsOf returns the arguments of a form's command as the page writes them.
func argumentsOf(form *verbs.Form) string {
	var words, clauses []string
	optional := 0
	for f := range (form.Fields() &^ form.HTTP).Each() {
		switch row := &verbs.Rows[f]; {
		case row.Clause != "":
			clauses = append(clauses, "["+strings.TrimSpace(row.Clause+" "+row.Argument)+"]")
		case row.Argument == "":
		case row.Repeats > 0:
			words = append(words, row.Argument, "["+row.Argument+" ...]")
		case form.Needs.Has(f):
			words = append(words, row.Argument)
		default:
			words = append(words, "["+row.Argument)
			optional++
		}
	}
	return strings.TrimSpace(strings.Join(words, " ") + strings.Repeat("]", optional) + " " + strings.Join(clauses, " "))
}
