package respapi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/policy"
)

// TestOutcomes checks that outcomes at the end of HEADGATE.ALLOW reach the limit, and that an invalid number is an
// error.
func TestOutcomes(t *testing.T) {
	config, err := policy.Parse("test.yaml", []byte("policies: {vendor: {algorithm: adaptive-rate, rate: 10/s, min: 5, max: 20}}"))
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, newService(t, headgatetest.NewClock(), config.Policies))
	for _, s := range []struct {
		words string
		want  []int64
	}{
		{"HEADGATE.ALLOW vendor k 1 OUTCOMES 5 1 0", []int64{0, 10, 9, -1, 1, 0}},
		{"HEADGATE.ALLOW vendor k OUTCOMES 5 0 0", []int64{0, 10, 8, -1, 1, 0}},
		{"HEADGATE.ALLOW vendor k 1 CLASS batch outcomes 0 1 3000", []int64{1, 10, 0, 3, 3, 0}},
	} {
		if got := ints(c.call(t, strings.Fields(s.words)...)); !slices.Equal(got, s.want) {
			t.Errorf("%s = %v, want %v", s.words, got, s.want)
		}
	}
	for words, want := range map[string]string{
		"HEADGATE.ALLOW vendor k OUTCOMES -1 0 0":    "ERR good must be an integer from 0 to 1048576",
		"HEADGATE.ALLOW vendor k OUTCOMES 0 x 0":     "ERR bad must be an integer from 0 to 1048576",
		"HEADGATE.ALLOW vendor k 1 OUTCOMES 0 1":     "ERR wrong number of arguments for 'headgate.allow' command",
		"HEADGATE.PEEK vendor k 1 OUTCOMES 0 1 3000": "ERR wrong number of arguments for 'headgate.peek' command",
	} {
		if got := c.call(t, strings.Fields(words)...); got.Text != want {
			t.Errorf("%s = %q, want %q", words, got.Text, want)
		}
	}
}
