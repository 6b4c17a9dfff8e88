package servers

import (
	"errors"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
)

// A FLUSHALL is logged with one line, and so is the end of its effects. In between, the mode is fallback. Afterwards it
// is exact again. A program that starts in between does not trust the store either (regression: bug 79).
func TestServerLogsALoss(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	base, err := policy.Parse("policies.yaml", []byte("policies: {second: {algorithm: fixed-window, limit: 40, window: 3s}}"))
	if err != nil {
		t.Fatal(err)
	}
	w := openWeb(t, daemon.Config{Store: "redis://" + s.Addr(), Base: base, StoreOptions: open.Options{Fallback: &fallback.Config{Expect: 2}}})
	logs := func(line string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); len(w.log.lines(line)) == 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("there is no line with %q", line)
			}
		}
	}
	if a := taken(w, "second"); a.Mode != "exact" {
		t.Errorf("before: %+v", a)
	}
	time.Sleep(1500 * time.Millisecond) // the values that reveal a loss are written within a beat
	s.MustDo("flushall")
	logs(`level=ERROR msg="store data lost`)
	if a := taken(w, "second"); a.Mode != "fallback" {
		t.Errorf("after a loss: %+v", a)
	}
	program, err := open.URL(t.Context(), "redis://"+s.Addr(), open.Options{Fallback: &fallback.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	limiter := headgate.New(headgate.WithStore(program))
	defer limiter.Close()
	first := limiter.Policy("first", headgate.FixedWindow{Rate: headgate.PerMinute(40)})
	d, err := first.Allow(t.Context(), "k")
	for range 20 { // a busy machine may not answer within the deadline
		if !errors.Is(err, headgate.ErrStoreUnavailable) {
			break
		}
		d, err = first.Allow(t.Context(), "k")
	}
	if err != nil || d.Promise.Mode != engine.Fallback {
		t.Errorf("the first decision of a program: %+v, %v", d.Promise, err)
	}
	logs("answers are exact again")
	if a := taken(w, "second"); a.Mode != "exact" {
		t.Errorf("when the limit has recovered: %+v", a)
	}
}
