package headgate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/operate"
	"github.com/headgate/headgate/internal/rule"
)

// Err reports an invalid policy before the first request.
func TestPolicyErr(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	fixed := rule.FixedWindow(rule.PerHour(9))
	for _, c := range []struct {
		name   string
		limits []engine.Limit
		want   string // "" for none
	}{
		{"good", []engine.Limit{fixed}, ""},
		{"", []engine.Limit{fixed}, ""},
		{"slots", []engine.Limit{rule.Concurrency(3)}, ""},
		{"two", []engine.Limit{fixed, fixed}, ""},
		{"burst", []engine.Limit{rule.FixedWindow(rule.PerHour(9), rule.Burst(3))}, `policy "burst": headgate: burst is`},
		{"a b", []engine.Limit{fixed}, `policy "a b": headgate: policy is`},
		{"none", nil, `policy "none": headgate: limits is 0`},
		{"twice", []engine.Limit{rule.FixedWindow(rule.PerHour(9), rule.Named("n")), rule.FixedWindow(rule.PerHour(8), rule.Named("n"))}, `twice`},
	} {
		err := operate.Policy(l, c.name, c.limits...).Err()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, headgate.ErrInvalid)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
