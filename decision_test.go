package headgate_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// A decision prints as one line, for logs.
func TestDecisionString(t *testing.T) {
	l, _ := onClock(t)
	p := l.Policy("mails", headgate.TokenBucket{Rate: headgate.PerSecond(10)}, headgate.FixedWindow{Rate: headgate.PerHour(50), Name: "hour"})
	d, err := p.AllowN(t.Context(), "k", 7)
	if err != nil {
		t.Fatal(err)
	}
	denied, err := p.AllowN(t.Context(), "k", 4)
	if err != nil {
		t.Fatal(err)
	}
	never, err := p.AllowN(t.Context(), "k", 60)
	if err != nil {
		t.Fatal(err)
	}
	free, err := l.Policy("free", headgate.NoLimit()).Allow(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	paced := d
	paced.Delay, paced.Promise.Mode = 50*time.Millisecond, engine.Fallback
	for want, d := range map[string]headgate.Decision{
		`no decision`:       {},
		`allowed: no limit`: {Allowed: true, Unlimited: true}, // regression: bug 206
		`allowed by "mails.1": 3 of 10 remaining`:                                  d,
		`denied by "mails.1": 10/s: retry after 100ms`:                             denied,
		`denied by "mails.1": 10/s: this can never pass`:                           never,
		`allowed by "free": no limit`:                                              free,
		`allowed by "mails.1": 3 of 10 remaining, after a delay of 50ms, fallback`: paced,
	} {
		if got := d.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
