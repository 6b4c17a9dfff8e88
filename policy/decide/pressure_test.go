package decide_test

import (
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
)

// TestPressure checks that pressure makes all classes except the first leave more units, and that a request with a
// policy and a request with items get the same answer.
func TestPressure(t *testing.T) {
	config, err := policy.Parse("x.yaml", []byte(`
policies:
  api: {algorithm: fixed-window, limit: 10, window: 1h, classes: [{name: live}, {name: batch}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	level := 0
	l := headgate.New()
	t.Cleanup(func() { _ = l.Close() })
	by := decide.New(config, l, decide.WithPressure(func() int { return level }))
	ask := func(key, class string) headgate.Decision {
		t.Helper()
		requests := []decide.Request{{Policy: "api", Key: key, Class: class}, {Items: []decide.Item{{Policy: "api", Key: key + " as item"}}, Class: class}}
		responses := make([]decide.Response, len(requests))
		by.Do(t.Context(), requests, responses)
		if responses[0].Err != nil || responses[1].Err != nil || responses[0].Decision.Remaining != responses[1].Decision.Remaining {
			t.Fatalf("%+v", responses)
		}
		return responses[0].Decision
	}
	for _, c := range []struct {
		level     int
		class     string
		allowed   bool
		remaining int64
	}{
		{0, "batch", true, 9}, {4, "batch", false, 0}, {4, "live", true, 8}, {2, "batch", true, 3}, {0, "batch", true, 6},
	} {
		level = c.level
		if d := ask("ann", c.class); d.Allowed != c.allowed || d.Remaining != c.remaining {
			t.Errorf("level %d, %s: %t with %d left, want %t with %d", c.level, c.class, d.Allowed, d.Remaining, c.allowed, c.remaining)
		}
	}
}
