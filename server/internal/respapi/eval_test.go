package respapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/server/internal/resp/resptest"
)

const call = "return redis.call('CL.THROTTLE', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4])"

// TestEval checks that scripts that consist of a call of CL.THROTTLE have its reply, by EVAL, and by EVALSHA after EVAL or
// SCRIPT LOAD on any connection (regression: bug 186).
func TestEval(t *testing.T) {
	address := serving(t, newService(t, headgatetest.NewClock(), nil))
	c, other := dial(t, address), dial(t, address)
	sha := "a5ca2e3bc8fe5ff2ab1cf8de8d8af0bf2a7c3e0d"
	if v := c.call(t, "EVALSHA", sha, "1", "k", "15", "30", "60", "1"); v.Kind != resptest.Error || v.Text != "NOSCRIPT No matching script. Please use EVAL." {
		t.Errorf("%+v", v)
	}
	if got := ints(c.call(t, "EVAL", call, "1", "k", "15", "30", "60", "1")); !slices.Equal(got, []int64{0, 16, 15, -1, 2}) {
		t.Errorf("%v", got)
	}
	v := other.call(t, "SCRIPT", "LOAD", "return redis.pcall(\"cl.throttle\",KEYS[1],15,'30',unpack(ARGV));")
	if v.Kind != resptest.Bulk || len(v.Text) != 40 {
		t.Fatalf("%+v", v)
	}
	if got := ints(c.call(t, "EVALSHA", strings.ToUpper(v.Text), "1", "k", "60", "17")); !slices.Equal(got, []int64{1, 16, 15, -1, 2}) {
		t.Errorf("%v", got)
	}
	if got := c.call(t, "SCRIPT", "EXISTS", v.Text, sha, "x"); len(got.Items) != 3 || got.Items[0].Int != 1 || got.Items[1].Int != 0 || got.Items[2].Int != 0 {
		t.Errorf("%+v", got)
	}
	if got := c.call(t, "SCRIPT", "FLUSH"); got.Text != "OK" {
		t.Errorf("%+v", got)
	}
	if got := other.call(t, "EVALSHA", v.Text, "1", "k", "60"); !strings.HasPrefix(got.Text, "NOSCRIPT ") {
		t.Errorf("%+v", got)
	}
	if got := ints(c.call(t, "CL.THROTTLE", "k", "15", "30", "60", "0")); !slices.Equal(got, []int64{0, 16, 15, -1, 2}) {
		t.Errorf("the counter is not that of CL.THROTTLE: %v", got)
	}
}

// TestEvalErrors checks that everything else is refused by name, and charges nothing.
func TestEvalErrors(t *testing.T) {
	c := open(t, newService(t, headgatetest.NewClock(), nil))
	refused := func(at string) string {
		return `accepted: a script that is only "return redis.call('CL.THROTTLE', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4])", with numbers in place of ARGV or unpack(ARGV) at the end; ` +
			"or the command without a script: CL.THROTTLE key max_burst count period [quantity]; the script " + at
	}
	for _, c2 := range []struct {
		want  string
		words []string
	}{
		{refused(`has "'GET', KEYS[1])"`), []string{"EVAL", "return redis.call('GET', KEYS[1])", "1", "k"}},
		{refused(`has "local k = KEYS[1] return 1"`), []string{"EVAL", "local k = KEYS[1] return 1", "1", "k"}},
		{refused(`has "[1]"`), []string{"EVAL", call + "[1]", "1", "k", "15", "30", "60", "1"}},
		{refused("ends too early"), []string{"EVAL", strings.TrimSuffix(call, ")"), "1", "k", "15", "30", "60", "1"}},
		{refused("has 5000 bytes"), []string{"EVAL", strings.Repeat(" ", 5000), "0"}},
		{refused(`has "redis.call('CL.THROTTLE', KEYS[1"`), []string{"SCRIPT", "LOAD", strings.TrimPrefix(call, "return ")}},
		{"the script has ARGV[4], and the command has 3", []string{"EVAL", call, "1", "k", "15", "30", "60"}},
		{"the script has KEYS[1], and the command has 0", []string{"EVAL", call, "0", "k", "15", "30", "60", "1"}},
		{"numkeys must be an integer from 0 to 2", []string{"EVAL", call, "3", "k", "15"}},
		{"numkeys must be an integer from 0 to 1", []string{"EVAL", call, "-1", "k"}},
		{"wrong number of arguments for 'cl.throttle' command", []string{"EVAL", "return redis.call('CL.THROTTLE', KEYS[1])", "1", "k"}},
		{"wrong number of arguments for 'cl.throttle' command", []string{"EVAL", "return redis.call('CL.THROTTLE', KEYS[1], unpack(ARGV))", "1", "k", "1", "1", "1", "1", "1", "1"}},
		{"max_burst must be an integer from 0", []string{"EVAL", call, "1", "k", "x", "30", "60", "1"}},
		{"SCRIPT accepts LOAD script, EXISTS", []string{"SCRIPT", "KILL"}},
		{"wrong number of arguments for 'eval' command", []string{"EVAL", call}},
	} {
		if v := c.call(t, c2.words...); v.Kind != resptest.Error || !strings.HasPrefix(v.Text, "ERR ") || !strings.Contains(v.Text, c2.want) {
			t.Errorf("%q: %s, want %s", c2.words, v.Text, c2.want)
		}
	}
	if v := c.call(t, "EXISTS", "k"); v.Int != 0 {
		t.Error("a refused script charged the key")
	}
}

// TestScriptsAreBounded checks that further scripts replace earlier ones, whose clients are told to send them again.
func TestScriptsAreBounded(t *testing.T) {
	c := open(t, newService(t, headgatetest.NewClock(), nil))
	var sums []string
	for i := range 1100 {
		sums = append(sums, c.call(t, "SCRIPT", "LOAD", fmt.Sprintf("return redis.call('CL.THROTTLE', KEYS[1], %d, 1, 1)", i)).Text)
	}
	kept := 0
	for _, sum := range sums {
		kept += int(c.call(t, "SCRIPT", "EXISTS", sum).Items[0].Int)
	}
	if kept != 1000 {
		t.Errorf("%d scripts are kept", kept)
	}
}
