package headgatetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
)

// sendMail is an example of a program under test.
func sendMail(ctx context.Context, mails *headgate.Policy, user string) error {
	d, err := mails.Allow(ctx, user)
	if err != nil {
		return err
	}
	return d.Err()
}

func TestMailIsLimited(t *testing.T) {
	limiter, require := headgatetest.NewLimiter(t), headgatetest.Require(t)
	mails := limiter.Policy("mails", headgate.FixedWindow{Rate: headgate.PerHour(1)})
	for _, user := range []string{"ann", "bob", "ann"} {
		if err := sendMail(t.Context(), mails, user); err != nil && !errors.Is(err, headgate.ErrDenied) {
			t.Fatal(err)
		}
	}
	got := ""
	for _, r := range limiter.Recorded() {
		got += fmt.Sprint(r.Verb, " ", r.Units, " of ", r.Policy, " for ", r.Key, ": ", r.Decision.Allowed, "\n")
	}
	if want := "allow 1 of mails for ann: true\nallow 1 of mails for bob: true\nallow 1 of mails for ann: false\n"; got != want {
		t.Errorf("recorded %q, want %q", got, want)
	}
	limiter.Forget()
	require.Wait(require.Denied(mails.Allow(t.Context(), "ann")), time.Hour)
	limiter.Clock.Advance(time.Hour)
	require.Remaining(require.Allowed(mails.Allow(t.Context(), "ann")), 0)
	if n := len(limiter.Recorded()); n != 2 {
		t.Errorf("%d requests recorded since Forget, want 2", n)
	}
}

// A pacer's wait is the delay of an allowed request. A cost above the limit never passes.
func TestWaits(t *testing.T) {
	limiter, require := headgatetest.NewLimiter(t), headgatetest.Require(t)
	mail := limiter.Policy("mail", headgate.Pacer{Rate: headgate.PerSecond(10), MaxQueue: 5})
	reserve := func(n int64) (headgate.Decision, error) {
		_, d, err := mail.Reserve(t.Context(), "smtp", n)
		return d, err
	}
	require.Wait(require.Allowed(reserve(1)), 0)
	require.Wait(require.Allowed(reserve(1)), 100*time.Millisecond)
	require.Wait(require.Denied(reserve(9)), headgate.Never)
}

// failing is a TB that expects its test to fail.
type failing struct {
	testing.TB

	message string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) { f.message = fmt.Sprintf(format, args...) }

// The message of a failed assertion contains the actual and the expected answer.
func TestAssertionsFail(t *testing.T) {
	limiter := headgatetest.NewLimiter(t)
	daily := limiter.Policy("daily", headgate.FixedWindow{Rate: headgate.PerDay(1)})
	allowed, err := daily.Allow(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	denied, err := daily.Allow(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	for want, check := range map[string]func(headgatetest.Requirement){
		"not known, want an allowed request: headgate: closed":     func(r headgatetest.Requirement) { r.Allowed(headgate.Decision{}, headgate.ErrClosed) },
		`denied by "daily": 1/1d: retry after 24h0m0s, want an al`: func(r headgatetest.Requirement) { r.Allowed(denied, nil) },
		"not known, want a denied request: headgate: closed":       func(r headgatetest.Requirement) { r.Denied(headgate.Decision{}, headgate.ErrClosed) },
		"decision is not made; ":                                   func(r headgatetest.Requirement) { r.Denied(headgate.Decision{}, nil) }, // regression: bug 207
		"allowed 1 units with 0 of 1 remaining, want a denied":     func(r headgatetest.Requirement) { r.Denied(allowed, nil) },
		"retry after 24h0m0s, want never":                          func(r headgatetest.Requirement) { r.Wait(denied, headgate.Never) },
		"a delay of 0s, want 1s":                                   func(r headgatetest.Requirement) { r.Wait(allowed, time.Second) },
		"0 units remain, want 1":                                   func(r headgatetest.Requirement) { r.Remaining(allowed, 1) },
	} {
		f := &failing{TB: t}
		if check(headgatetest.Require(f)); !strings.Contains(f.message, want) {
			t.Errorf("%q, want %q", f.message, want)
		}
	}
}

// An invalid option fails the test at once, not at the first request.
func TestInvalidOptionFails(t *testing.T) {
	store, _ := memstore.New(memstore.Config{})
	for want, option := range map[string]headgate.Option{
		"observer is nil": headgate.WithObserver(nil), "store is nil": headgate.WithStore(nil),
		"store is set; accepted: no WithStore": headgate.WithStore(store),
	} {
		f := &failing{TB: t}
		if headgatetest.NewLimiter(f, option); !strings.Contains(f.message, want) {
			t.Errorf("%q, want %q", f.message, want)
		}
	}
}
