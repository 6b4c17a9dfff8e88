package headgate_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/redisstore"
)

// Errors name the value that the program passed, and what the same method takes in its place (regression: bug 144).
func TestMistakesAreNamedAsWritten(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	policy := limiter.Policy("tokens", headgate.TokenBucket{Rate: headgate.PerHour(10)})
	semaphore := limiter.Semaphore("exports", headgate.Concurrency{Units: 10})
	_, _, reserve := policy.Reserve(t.Context(), "acme", -7)
	_, wait := policy.WaitN(t.Context(), "acme", -7)
	_, acquire := semaphore.Acquire(t.Context(), "acme", -7)
	_, both := limiter.AllowAll(t.Context(), headgate.Charge{Policy: policy, Semaphore: semaphore, Key: "acme"})
	_, held := limiter.AllowAll(t.Context(), headgate.Charge{Semaphore: semaphore, Key: "acme"})
	each := limiter.AllowEach(t.Context(),
		headgate.Charge{}, headgate.Charge{Policy: policy, Key: "acme", Units: -7}, headgate.Charge{Semaphore: semaphore, Key: "acme"})
	many := limiter.AllowEach(t.Context(), make([]headgate.Charge, 1001)...)
	reserved, d, err := policy.Reserve(t.Context(), "acme", 1)
	if err != nil || !d.Allowed {
		t.Fatal(d, err)
	}
	_, commit := reserved.Commit(t.Context(), -7)
	_, named := reserved.CommitNamed(t.Context(), map[string]int64{"tokens": -7})
	permits, _, err := limiter.ReserveAll(t.Context(), headgate.Charge{Semaphore: semaphore, Key: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	d, err = limiter.PeekAll(t.Context(), headgate.Charge{Semaphore: semaphore, Key: "acme"})
	if err != nil || d.Remaining != 9 {
		t.Error(d, err)
	}
	_, permit := permits.CommitNamed(t.Context(), map[string]int64{"exports": 1})
	nothing := headgate.Charge{Policy: policy, Key: "acme", Units: headgate.NoUnits}
	_, _, noUnits := limiter.ReserveAll(t.Context(), nothing, nothing)
	_, text := limiter.Reservation(strings.Repeat("A", 1<<17))
	term := policy.SettleWithin(0, headgate.KeepCharge).Err()
	for want, err := range map[string]error{
		`policy "tokens": cost is -7; accepted: 1 or more, for reserve`:                               reserve,
		`policy "tokens": cost is -7; accepted: 0 or more`:                                            wait,
		`semaphore "exports": cost is -7; accepted: 1 or more, for acquire`:                           acquire,
		`charges.0: policy is set, and a semaphore; accepted: one of the two`:                         both,
		`charges.0: semaphore "exports": semaphore is set; accepted: a policy; ReserveAll takes both`: held,
		`policy "a": change is nil; accepted: a function; without WithCore there is none`:             headgate.New(headgate.WithCore(nil)).Policy("a").Err(),

		// regression: bug 202
		`policy is not set, or of another limiter; accepted: a policy or a semaphore of this limiter`: each[0].Err,
		`policy "tokens": Units is -7; accepted: 1 or more, or NoUnits`:                               each[1].Err,
		`semaphore "exports": semaphore is set; accepted: a policy; ReserveAll takes both`:            each[2].Err,
		`charges is 1001; accepted: 1 to 1000 in one call`:                                            many[1000].Err,
		`used[0] is -7; accepted: 0 or more`:                                                          commit,
		`used["tokens"] is -7; accepted: 0 or more`:                                                   named,
		`used is "exports"; accepted: an empty map, because the reservation has only semaphores`:      permit,
		`cost is 0 in every charge; accepted: 1 or more in at least one charge, for reserve`:          noUnits,
		`reservation is 131072 bytes; accepted: the text of a reservation, at most 65536 bytes long`:  text,
		`policy "tokens": within is 0s; accepted: whole milliseconds, 1ms to 168h`:                    term,
	} {
		if err == nil || err.Error() != "headgate: "+want {
			t.Errorf("got  %v\nwant headgate: %s", err, want)
		}
	}
}

// A program that ignores the error of a call and asks the decision for one is not told that a limit denied the request
// (regression: bug 145).
func TestNoDecisionIsNoDenial(t *testing.T) {
	limiter := headgate.New()
	limiter.Close()
	d, _ := limiter.Policy("tokens", headgate.TokenBucket{Rate: headgate.PerHour(10)}).Allow(t.Context(), "acme")
	err := d.Err()
	if !errors.Is(err, headgate.ErrInvalid) || errors.Is(err, headgate.ErrDenied) || !strings.Contains(err.Error(), "decision is not made") {
		t.Error(err)
	}
	// A denial stays one for a test whose clock is the zero time.
	store, _ := memstore.New(memstore.Config{Clock: func() time.Time { return time.Time{} }})
	policy := headgate.New(headgate.WithStore(store)).Policy("tokens", headgate.TokenBucket{Rate: headgate.PerHour(1)})
	for _, want := range []string{"allowed", "denied"} {
		d, err := policy.Allow(t.Context(), "acme")
		if err != nil || errors.Is(d.Err(), headgate.ErrDenied) != (want == "denied") || !strings.HasPrefix(d.String(), want) {
			t.Error(want, d, d.Err(), err)
		}
	}
}

// A list has at most 32 charges, also if they are on few counters: those after the 32nd had no item of their own, so that
// a commit settled them with the number of another charge (regression: bug 203).
func TestListsAreBounded(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	requests := limiter.Policy("requests", headgate.TokenBucket{Rate: headgate.PerHour(100)})
	tokens := limiter.Policy("tokens", headgate.TokenBucket{Rate: headgate.PerHour(1000)})
	charges := make([]headgate.Charge, 32)
	for i := range charges {
		charges[i] = headgate.Charge{Policy: requests, Key: "acme"}
	}
	charges = append(charges, headgate.Charge{Policy: tokens, Key: "acme", Units: 500})
	_, _, reserve := limiter.ReserveAll(t.Context(), charges...)
	_, allow := limiter.AllowAll(t.Context(), charges...)
	_, peek := limiter.PeekAll(t.Context(), charges...)
	_, _, _, charge := limiter.ChargeAll(t.Context(), true, charges...) //nolint:dogsled // only its error counts
	for _, err := range []error{reserve, allow, peek, charge} {
		if !errors.Is(err, headgate.ErrInvalid) || !strings.Contains(err.Error(), "charges is 33; accepted: 1 to 32 in one request") {
			t.Error(err)
		}
	}
	if _, d, err := limiter.ReserveAll(t.Context(), charges[:32]...); err != nil || d.Remaining != 68 {
		t.Error(d, err)
	}
}

// A program that asks for everything gets it from a policy without a limit (regression: bug 210).
func TestAtMostOfEverything(t *testing.T) {
	limiter := headgate.New()
	defer limiter.Close()
	for name, limits := range map[string][]headgate.Limit{
		"free": {headgate.NoLimit()}, "two": {headgate.NoLimit(), headgate.NoLimit()},
		"watched": {headgate.Penalty{Rate: headgate.PerHour(5)}, headgate.NoLimit()},
	} {
		d, err := limiter.Policy(name, limits...).AtMost(t.Context(), "acme", math.MaxInt64)
		if err != nil || !d.Allowed || d.Granted != math.MaxInt64 {
			t.Error(name, d, d.Granted, err)
		}
	}
}

// What a call returned with an error or a denial can be closed and settled without a panic.
func TestWhatAnErrorReturnsCanBeEnded(t *testing.T) {
	store, _ := memstore.New(memstore.Config{MaxKeys: -1})
	shared, _ := redisstore.New(nil, redisstore.Config{})
	limiter := headgate.New()
	defer limiter.Close()
	charge, _, d, err := limiter.ChargeAll(t.Context(), true, headgate.Charge{Policy: limiter.Policy("p", headgate.DenyAll()), Key: "k"})
	if err != nil || d.Allowed {
		t.Fatal(d, err)
	}
	for name, err := range map[string]error{"memstore": store.Close(), "redisstore": shared.Close(), "charge": charge.Settle(t.Context(), 1)} {
		if !errors.Is(err, headgate.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
