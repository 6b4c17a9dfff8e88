package headgate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/headgate/headgate"
)

// Err reports an invalid policy before the first request.
func TestPolicyErr(t *testing.T) {
	l := headgate.New()
	defer l.Close()
	fixed := headgate.FixedWindow(headgate.PerHour(9))
	for _, c := range []struct {
		name   string
		limits []headgate.Limit
		want   string // "" for none
	}{
		{"good", []headgate.Limit{fixed}, ""},
		{"", []headgate.Limit{fixed}, ""},
		{"slots", []headgate.Limit{headgate.Concurrency(3)}, ""},
		{"two", []headgate.Limit{fixed, fixed}, ""},
		{"burst", []headgate.Limit{headgate.FixedWindow(headgate.PerHour(9), headgate.Burst(3))}, `policy "burst": headgate: burst is`},
		{"a b", []headgate.Limit{fixed}, `policy "a b": headgate: policy is`},
		{"none", nil, `policy "none": headgate: limits is 0`},
		{"twice", []headgate.Limit{headgate.FixedWindow(headgate.PerHour(9), headgate.Named("n")), headgate.FixedWindow(headgate.PerHour(8), headgate.Named("n"))}, `twice`},
	} {
		err := l.Policy(c.name, c.limits...).Err()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, headgate.ErrInvalid)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
