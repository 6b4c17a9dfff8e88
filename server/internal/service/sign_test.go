package service_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/users"
)

// TestReservationsOfUsers checks that only the user that made a reservation, operators, and clients of listeners
// without users can renew and settle it (regression: bug 77).
func TestReservationsOfUsers(t *testing.T) {
	config, err := policy.Parse("p.yaml", []byte("policies: {api: {algorithm: token-bucket, rate: 9/s, settle_within: 1m}, calls: {algorithm: concurrency, limit: 9}}"))
	if err != nil {
		t.Fatal(err)
	}
	f := openUsers(t, "users: {shop: {sha256: [%x], may: [decide]}, other: {sha256: [%x], may: [decide]}, ops: {sha256: [%x], may: [decide, operate]}, default: {may: [decide]}}\n", "shop", "other", "ops")
	limiter := core.New(core.Config{})
	defer limiter.Close()
	s := service.New(service.Config{Limiter: limiter, Policies: config.Policies, Users: true})
	do := func(user string, r decide.Request) decide.Response {
		ctx, answers := t.Context(), make([]decide.Response, 1)
		switch user {
		case "no users":
		case "":
			ctx = users.With(ctx, f.Unknown())
		default:
			ctx = users.With(ctx, f.Of(user))
		}
		s.Do(ctx, service.HTTP, []decide.Request{r}, answers)
		return answers[0]
	}
	list := []decide.Item{{Policy: "api", Key: "k"}, {Policy: "calls", Key: "k"}}
	for name, reserve := range map[string]decide.Request{
		"with a term": {Kind: engine.OpReserve, Item: decide.Item{Policy: "api", Key: "k"}, ID: "chosen"},
		"of a list":   {Kind: engine.OpReserve, Items: list, ID: "chosen"},
	} {
		for _, c := range []struct {
			by, settles string
			refused     bool
		}{
			{"shop", "shop", false},
			{"shop", "other", true},
			{"shop", "", true},
			{"shop", "ops", false},
			{"shop", "no users", false},
			{"", "shop", true},
			{"", "", false},
			{"no users", "other", false},
		} {
			made := do(c.by, reserve)
			if made.Err != nil || made.Reservation == "" {
				t.Fatalf("%s, %s: %+v", name, c.by, made)
			}
			for _, kind := range []engine.Kind{engine.OpRenew, engine.OpSettle} {
				answer := do(c.settles, decide.Request{Kind: kind, Reservation: made.Reservation, Used: make([]int64, max(1, len(reserve.Items)))})
				refused, _ := errors.AsType[*service.Error](answer.Err)
				if (refused != nil && refused.Code == service.Forbidden) != c.refused || !c.refused && answer.Err != nil {
					t.Errorf("%s, made by %q, %s by %q: %v", name, c.by, kind, c.settles, answer.Err)
				}
			}
			held, err := engine.ParseReservation(made.Reservation[strings.Index(made.Reservation, ".")+1:])
			if err != nil {
				t.Fatal(err)
			}
			release := do(c.settles, decide.Request{Kind: engine.OpRelease, Item: decide.Item{Policy: "calls", Key: "k"}, ID: held.ID})
			if refused, _ := errors.AsType[*service.Error](release.Err); (refused != nil && refused.Code == service.Forbidden) != c.refused {
				t.Errorf("%s, made by %q, released by %q: %+v", name, c.by, c.settles, release)
			}
			if c.refused { // the reservation is still open
				if answer := do("ops", decide.Request{Kind: engine.OpSettle, Reservation: made.Reservation, Used: make([]int64, max(1, len(reserve.Items)))}); !answer.Found {
					t.Errorf("%s, made by %q, is not settled: %+v", name, c.by, answer)
				}
			}
		}
	}
	if answer := do("shop", decide.Request{Kind: engine.OpReserve, Item: decide.Item{Policy: "calls", Key: "k"}}); answer.Err == nil {
		t.Errorf("a permit is reserved outside of a list: %+v", answer)
	}
	if answer := do("shop", decide.Request{Kind: engine.OpAcquire, Item: decide.Item{Policy: "calls", Key: "k"}, ID: "worker.7"}); answer.Err != nil {
		t.Errorf("an id that a client chose: %v", answer.Err)
	}
}

// TestOneUserCannotOpenAllReservations checks that one user can have a quarter of the store's open reservations, that
// settled and ended ones make room, once each, and that another user still reserves (regression: bug 214).
func TestOneUserCannotOpenAllReservations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, err := policy.Parse("p.yaml", []byte("policies: {api: {algorithm: token-bucket, rate: 999/s, settle_within: 1m}}"))
		if err != nil {
			t.Fatal(err)
		}
		f := openUsers(t, "users: {shop: {sha256: [%x], may: [decide]}, other: {sha256: [%x], may: [decide]}}\n", "shop", "other")
		limiter := core.New(core.Config{})
		defer limiter.Close()
		s := service.New(service.Config{Limiter: limiter, Policies: config.Policies, Users: true, Keys: 40})
		do := func(user string, r decide.Request) *decide.Response {
			answers := make([]decide.Response, 1)
			s.Do(users.With(t.Context(), f.Of(user)), service.HTTP, []decide.Request{r}, answers)
			return &answers[0]
		}
		var made []string
		reserve := func() (n int) {
			for ; ; n++ {
				answer := do("shop", decide.Request{Kind: engine.OpReserve, Item: decide.Item{Policy: "api", Key: "k"}})
				if refused, ok := errors.AsType[*service.Error](answer.Err); ok && refused.Code == service.Forbidden {
					return n
				}
				if answer.Err != nil || answer.Reservation == "" || n > 40 {
					t.Fatalf("reservation %d: %+v", n, answer)
				}
				made = append(made, answer.Reservation)
			}
		}
		if n := reserve(); n != 10 {
			t.Errorf("%d open reservations of one user, want a quarter of 40", n)
		}
		if answer := do("other", decide.Request{Kind: engine.OpReserve, Item: decide.Item{Policy: "api", Key: "k"}}); answer.Reservation == "" {
			t.Errorf("another user: %+v", answer)
		}
		for range 2 { // the second time changes nothing
			for _, text := range made[:3] {
				do("shop", decide.Request{Kind: engine.OpSettle, Reservation: text})
			}
		}
		if n := reserve(); n != 3 {
			t.Errorf("%d more after 3 were settled", n)
		}
		batch, answers, n := make([]decide.Request, 20), make([]decide.Response, 20), 0
		for i := range batch {
			batch[i] = decide.Request{Kind: engine.OpReserve, Item: decide.Item{Policy: "api", Key: "k"}}
		}
		s.Do(users.With(t.Context(), f.Of("other")), service.HTTP, batch, answers)
		for i := range answers {
			if answers[i].Reservation != "" {
				n++
			}
		}
		if n != 9 {
			t.Errorf("%d reservations of one call, want 9", n)
		}
		time.Sleep(30 * time.Second)
		for i, text := range made[3:] { // (regression: bug 228)
			if answer := do("shop", decide.Request{Kind: []engine.Kind{engine.OpRenew, engine.OpSettle}[i%2], Reservation: text, Reports: i%2 == 1}); answer.Err != nil {
				t.Errorf("a renewal: %v", answer.Err)
			}
		}
		time.Sleep(50 * time.Second)
		if n := reserve(); n != 0 {
			t.Errorf("%d more after the renewal of 10", n)
		}
		time.Sleep(2 * time.Minute)
		if n := reserve(); n != 10 {
			t.Errorf("%d more after all terms have ended", n)
		}
	})
}

// TestOneUserCannotLeaveAllMarks checks that one user can have a quarter of the room for marks of settled reservations,
// whether they are settled or not, that reservations with a term need none, and that marks that have ended make room
// (regression: bug 249).
func TestOneUserCannotLeaveAllMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, err := policy.Parse("p.yaml", []byte(`policies:
  api: {algorithm: token-bucket, rate: 999/s}
  month: {algorithm: fixed-window, limit: 999, window: 30d}
  calls: {algorithm: token-bucket, rate: 999/s, settle_within: 1m}`))
		if err != nil {
			t.Fatal(err)
		}
		f := openUsers(t, "users: {shop: {sha256: [%x], may: [decide]}, other: {sha256: [%x], may: [decide]}}\n", "shop", "other")
		limiter := core.New(core.Config{})
		defer limiter.Close()
		s := service.New(service.Config{Limiter: limiter, Policies: config.Policies, Users: true, Keys: 40})
		do := func(user string, r decide.Request) *decide.Response {
			answers := make([]decide.Response, 1)
			s.Do(users.With(t.Context(), f.Of(user)), service.HTTP, []decide.Request{r}, answers)
			return &answers[0]
		}
		reserve := func(user, name string) (n int) {
			for ; ; n++ {
				answer := do(user, decide.Request{Kind: engine.OpReserve, Item: decide.Item{Policy: name, Key: "k"}})
				if refused, ok := errors.AsType[*service.Error](answer.Err); ok && refused.Code == service.Forbidden && strings.Contains(refused.Error(), "settle_within") {
					return n
				}
				if answer.Err != nil || answer.Reservation == "" || n == 20 {
					return n
				}
				if n%2 == 0 {
					do(user, decide.Request{Kind: engine.OpSettle, Reservation: answer.Reservation})
				}
			}
		}
		if n, month := reserve("shop", "api"), reserve("shop", "month"); n != 10 || month != 0 {
			t.Errorf("%d and %d reservations of one user, want a quarter of 40 in all", n, month)
		}
		if answer := do("shop", decide.Request{Kind: engine.OpReserve, Item: decide.Item{Policy: "calls", Key: "k"}}); answer.Reservation == "" {
			t.Errorf("with a term: %+v", answer)
		}
		if n := reserve("other", "month"); n != 10 {
			t.Errorf("%d reservations of another user", n)
		}
		time.Sleep(engine.SettleWithin + 2*time.Minute)
		if n, month := reserve("shop", "api"), reserve("other", "month"); n != 10 || month != 0 {
			t.Errorf("%d more after 7 minutes, of a month %d", n, month)
		}
		time.Sleep(engine.SettleAtMost + time.Minute)
		if n := reserve("other", "month"); n != 10 {
			t.Errorf("%d more of a month after an hour", n)
		}
	})
}

// TestPartsUnderAll checks that reservations under a policy with "all" count for the same quarters as those under the
// policies that it lists (regression: bug 251).
func TestPartsUnderAll(t *testing.T) {
	config, err := policy.Parse("p.yaml", []byte(`policies:
  api: {algorithm: token-bucket, rate: 999/s}
  calls: {algorithm: token-bucket, rate: 999/s, settle_within: 1m}
  both: {all: [api, calls]}
  own: {all: [api], settle_within: 1m}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"both", "own"} {
		limiter := core.New(core.Config{})
		defer limiter.Close()
		ctx := users.With(t.Context(), openUsers(t, "users: {shop: {sha256: [%x], may: [decide]}}\n", "shop").Of("shop"))
		s := service.New(service.Config{Limiter: limiter, Policies: config.Policies, Users: true, Keys: 40})
		n := 0
		for range 20 {
			answers := make([]decide.Response, 1)
			s.Do(ctx, service.HTTP, []decide.Request{{Kind: engine.OpReserve, Item: decide.Item{Policy: name, Key: "k"}}}, answers)
			if answers[0].Reservation != "" {
				n++
			}
		}
		if n != 10 {
			t.Errorf("%s: %d open reservations of one user, want a quarter of 40", name, n)
		}
	}
}

// TestRenewalsElsewhereAreForgotten checks that a server that only renews a user's reservations forgets those that have
// ended.
func TestRenewalsElsewhereAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, err := policy.Parse("p.yaml", []byte("policies: {api: {algorithm: token-bucket, rate: 999/s, settle_within: 1m}}"))
		if err != nil {
			t.Fatal(err)
		}
		shop := openUsers(t, "users: {shop: {sha256: [%x], may: [decide]}}\n", "shop").Of("shop")
		limiter := core.New(core.Config{})
		defer limiter.Close()
		secret := func(context.Context) ([]byte, error) { return []byte("shared"), nil }
		makes := service.New(service.Config{Limiter: limiter, Policies: config.Policies, Users: true, Secret: secret})
		renews := service.New(service.Config{Limiter: limiter, Policies: config.Policies, Users: true, Secret: secret, Keys: 40})
		do := func(s *service.Service, r decide.Request) *decide.Response {
			answers := make([]decide.Response, 1)
			if s.Do(users.With(t.Context(), shop), service.HTTP, []decide.Request{r}, answers); answers[0].Err != nil {
				t.Fatal(answers[0].Err)
			}
			return &answers[0]
		}
		for range 30 {
			made := do(makes, decide.Request{Kind: engine.OpReserve, Item: decide.Item{Policy: "api", Key: "k"}})
			do(renews, decide.Request{Kind: engine.OpRenew, Reservation: made.Reservation})
			time.Sleep(2 * time.Minute)
		}
		if n := renews.Opened("shop"); n > 10 {
			t.Errorf("%d reservations are counted, want at most a quarter of 40", n)
		}
	})
}

// TestRenewedElsewhereTakeNoMemory checks that a server forgets the ended ones of many reservations that it has renewed and
// another has settled, long before they are the user's part (regression: bug 258).
func TestRenewedElsewhereTakeNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, err := policy.Parse("p.yaml", []byte("policies: {api: {algorithm: token-bucket, rate: 999/s, settle_within: 1m}}"))
		if err != nil {
			t.Fatal(err)
		}
		ctx := users.With(t.Context(), openUsers(t, "users: {shop: {sha256: [%x], may: [decide]}}\n", "shop").Of("shop"))
		limiter := core.New(core.Config{})
		defer limiter.Close()
		secret := func(context.Context) ([]byte, error) { return []byte("shared"), nil }
		settles := service.New(service.Config{Limiter: limiter, Policies: config.Policies, Users: true, Secret: secret})
		renews := service.New(service.Config{Limiter: limiter, Policies: config.Policies, Users: true, Secret: secret})
		do := func(s *service.Service, r decide.Request) string {
			answers := make([]decide.Response, 1)
			if s.Do(ctx, service.HTTP, []decide.Request{r}, answers); answers[0].Err != nil {
				t.Fatal(answers[0].Err)
			}
			return answers[0].Reservation
		}
		for range 60 {
			for range 100 {
				made := do(settles, decide.Request{Kind: engine.OpReserve, Item: decide.Item{Policy: "api", Key: "k"}})
				do(renews, decide.Request{Kind: engine.OpRenew, Reservation: made})
				do(settles, decide.Request{Kind: engine.OpSettle, Reservation: made})
			}
			time.Sleep(time.Minute)
		}
		if n := renews.Renewed("shop"); n > 1000 {
			t.Errorf("%d of 6000 renewed reservations are remembered, want at most 1000", n)
		}
	})
}

// TestRefusedReservesAreCheap checks that a reserve beyond a user's part costs no more than one within it, also if the user
// has reserved far ahead, so that the reservations end at as many instants (regression: bug 259).
func TestRefusedReservesAreCheap(t *testing.T) {
	config, err := policy.Parse("p.yaml", []byte("policies: {api: {algorithm: token-bucket, rate: 1/1m}}"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := users.With(t.Context(), openUsers(t, "users: {shop: {sha256: [%x], may: [decide]}}\n", "shop").Of("shop"))
	limiter := core.New(core.Config{})
	defer limiter.Close()
	const part = 30_000
	s := service.New(service.Config{Limiter: limiter, Policies: config.Policies, Users: true, Keys: 4 * part})
	answers := make([]decide.Response, 1)
	reserve := func(n int) (took time.Duration) {
		began := time.Now()
		for range n {
			s.Do(ctx, service.HTTP, []decide.Request{{Kind: engine.OpReserve, MaxDelay: 365 * 24 * time.Hour, Item: decide.Item{Policy: "api", Key: "k"}}}, answers)
		}
		return time.Since(began)
	}
	reserve(part - 500)
	if answers[0].Reservation == "" {
		t.Fatalf("%+v", answers[0])
	}
	within := reserve(500)
	if beyond := reserve(500); answers[0].Err == nil || beyond > 4*within {
		t.Errorf("500 refused reserves took %s, and 500 others %s: %v", beyond, within, answers[0].Err)
	}
}

// distantStore is a store whose answers take a second.
type distantStore struct{ engine.Store }

func (s distantStore) Do(ctx context.Context, ops []engine.Op, answers []engine.Answer) {
	time.Sleep(time.Second)
	s.Store.Do(ctx, ops, answers)
}

// TestConcurrentReservesKeepThePart checks that a user's calls that wait for the store count for its part
// (regression: bug 228).
func TestConcurrentReservesKeepThePart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, err := policy.Parse("p.yaml", []byte("policies: {api: {algorithm: token-bucket, rate: 999/s, settle_within: 1m}}"))
		if err != nil {
			t.Fatal(err)
		}
		store, err := memstore.New(memstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		limiter := core.New(core.Config{Store: distantStore{store}})
		defer limiter.Close()
		ctx := users.With(t.Context(), openUsers(t, "users: {shop: {sha256: [%x], may: [decide]}}\n", "shop").Of("shop"))
		s := service.New(service.Config{Limiter: limiter, Policies: config.Policies, Users: true, Keys: 40})
		made := make(chan bool)
		for range 30 {
			go func() {
				answers := make([]decide.Response, 1)
				s.Do(ctx, service.HTTP, []decide.Request{{Kind: engine.OpReserve, Item: decide.Item{Policy: "api", Key: "k"}}}, answers)
				made <- answers[0].Reservation != ""
			}()
		}
		n := 0
		for range 30 {
			if <-made {
				n++
			}
		}
		if n != 10 || s.Opened("shop") != 10 {
			t.Errorf("%d reservations, %d counted, want a quarter of 40", n, s.Opened("shop"))
		}
	})
}
