package outcomes_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/headgate/headgate/adapter/outcomes"
	"github.com/headgate/headgate/engine"
)

func TestOutcomeOfAnswers(t *testing.T) {
	for _, c := range []struct {
		allowed bool
		err     error
		want    string
	}{
		{true, nil, "allowed"},
		{false, nil, "denied"},
		{false, engine.ErrStoreUnavailable, "unknown"},
		{false, engine.ErrClosed, "unknown"},
		{false, context.DeadlineExceeded, "unknown"},
		{false, fmt.Errorf("wrapped: %w", &engine.InputError{Field: "key"}), "invalid"},
	} {
		if got := outcomes.Of(c.allowed, c.err).String(); got != c.want {
			t.Errorf("%t, %v: %s, want %s", c.allowed, c.err, got, c.want)
		}
	}
}

// TestTable checks that each result is assigned one value, which Each reports with its labels. An error is assigned one
// value, whatever the mode of its decision.
func TestTable(t *testing.T) {
	var counts outcomes.Table[int]
	*counts.At(true, engine.Exact, nil)++
	*counts.At(false, engine.Leased, nil) += 2
	*counts.At(false, engine.Leased, errors.New("no answer")) += 3
	*counts.At(true, engine.Fallback, engine.ErrInvalid) += 4
	*counts.At(true, 255, nil) += 5 // a mode added by a later version
	got := map[string]int{}
	counts.Each(func(outcome, mode string, n *int) {
		if *n > 0 {
			got[outcome+"/"+mode] += *n
		}
	})
	want := map[string]int{"allowed/exact": 1, "denied/leased": 2, "unknown/": 3, "invalid/": 4, "allowed/leased": 5}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}
