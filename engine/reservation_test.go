package engine_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

func reservation() *engine.Reservation {
	held := algo.Held{Units: 3, Taken: 1_790_000_000_000_000, Slot: 1_790_000_000_500_000, Ends: 1_790_000_060_000_000}
	return &engine.Reservation{
		ID: "id", Space: "policy:api", Key: "a\x00key {with} anything", Ends: held.Ends,
		Limits: []engine.Reserved{
			{Limit: engine.Build(algo.TokenBucket, []engine.Rate{engine.Per(3, time.Second)}), Held: held},
			{Space: "policy:other", Limit: engine.Build(algo.FixedWindow, []engine.Rate{engine.Per(3, 24*time.Hour)},
				engine.Setting{Field: "align", Word: "Asia/Shanghai"}, engine.Setting{Field: "name", Word: `a "name" with spaces`}), Held: held},
		},
	}
}

// byShares returns a reservation with charges to shares, with or without a charge to the store.
func byShares(shares []engine.Reserved) *engine.Reservation {
	r := reservation()
	r.Process, r.Shares = "web-1/ABC", shares
	return r
}

// termed returns a reservation with a term, and with estimates and ceilings for its charges.
func termed() *engine.Reservation {
	r := reservation()
	r.Due, r.Term = r.Ends, &engine.Term{Within: time.Minute, Then: engine.ChargeEstimate, Estimates: []int64{3, 7}, Ceilings: []int64{9, 0}}
	return r
}

// A settlement never charges more than the ceiling, not even at the end of the term.
func TestCeilings(t *testing.T) {
	r := termed()
	for used, want := range map[int64]string{9: "", 10: "charges.0: actual is 10; accepted: 0 to 9, the ceiling of the reservation"} {
		op := r.Settle(used)
		err := op.Check()
		if (err == nil) != (want == "") || err != nil && err.Error() != "headgate: "+want {
			t.Errorf("%d used: %v, want %s", used, err, want)
		}
	}
	r.Term.Estimates[0] = 50
	if over := r.Overdue(); over.Charges[0].Cost != 9 || over.Charges[1].Cost != 7 || over.Check() != nil {
		t.Errorf("%+v; want 9 and 7 charged", over.Charges)
	}
	if a, b := r.Pending(0), r.Pending(1); a != 6 || b != 0 {
		t.Errorf("%d and %d pending, want 6 and 0", a, b)
	}
	op := engine.Single(engine.OpReserve, "k", r.Limits[0].Limit, 3)
	for most, ok := range map[int64]bool{0: true, 2: false, 3: true, algo.MaxUnits: true, algo.MaxUnits + 1: false, -1: false} {
		op.ID, op.Term = "id", &engine.Term{Within: time.Minute, Ceilings: []int64{most}}
		if err := op.Check(); (err == nil) != ok {
			t.Errorf("a ceiling of %d for 3 units: %v", most, err)
		}
	}
	op.Term.Ceilings = []int64{3, 3}
	if op.Check() == nil {
		t.Error("two ceilings of one limit")
	}
}

// A parsed reservation formats to the same text. Parsing text that is empty, truncated, too long or otherwise invalid
// returns an error that names the reservation.
func TestReservationText(t *testing.T) {
	text := reservation().String()
	for _, want := range []*engine.Reservation{reservation(), byShares(nil), byShares(reservation().Limits), termed()} {
		read, err := engine.ParseReservation(want.String())
		if err != nil || !reflect.DeepEqual(read, want) {
			t.Fatalf("%+v, %v, want %+v", read, err, want)
		}
	}
	for _, bad := range []string{"", "A", "!", text[:len(text)-4], text + "AAAA", "Ag" + text[2:], strings.Repeat("A", engine.MaxReservationText+1), text[:40] + "\n" + text[40:]} {
		var input *engine.InputError
		if _, err := engine.ParseReservation(bad); !errors.As(err, &input) || input.Field != "reservation" {
			t.Errorf("%.60q: %v", bad, err)
		}
	}
}

func FuzzParseReservation(f *testing.F) {
	f.Add(reservation().String())
	f.Add(byShares(nil).String())
	f.Add(termed().String())
	f.Add(byShares(reservation().Limits).String())
	f.Fuzz(func(t *testing.T, text string) {
		r, err := engine.ParseReservation(text)
		if err != nil {
			return
		}
		again, err := engine.ParseReservation(r.String())
		if err != nil || again.String() != r.String() {
			t.Errorf("%q is read as %q, %v", text, r, err)
		}
	})
}

// A settle without its reservation, with limits other than the reservation's, or with a number or id out of range
// causes an error.
func TestCheckSettle(t *testing.T) {
	for name, change := range map[string]func(*engine.Op){
		"none":   func(op *engine.Op) { op.Reservation = nil },
		"id":     func(op *engine.Op) { op.ID = "" },
		"long":   func(op *engine.Op) { op.ID = strings.Repeat("x", 65) },
		"limits": func(op *engine.Op) { op.Charges = op.Charges[:1] },
		"other":  func(op *engine.Op) { op.Charges[0].Limit = op.Charges[1].Limit },
		"key":    func(op *engine.Op) { op.Charges[1].Key = "other" },
		"cost":   func(op *engine.Op) { op.Charges[1].Cost = -1 },
		"slot":   func(op *engine.Op) { op.Reservation.Limits[0].Slot = 0 },
		"ends":   func(op *engine.Op) { op.Reservation.Limits[1].Ends = 1 << 60 },
		"shares": func(op *engine.Op) { op.Reservation.Shares = reservation().Limits }, // but no process
		"share":  func(op *engine.Op) { *op.Reservation = *byShares(make([]engine.Reserved, 1)) },
		"units":  func(op *engine.Op) { op.Reservation.Limits[0].Units = -1 },
	} {
		op := reservation().Settle(1)
		if err := op.Check(); err != nil {
			t.Fatal(err)
		}
		if change(&op); !errors.Is(op.Check(), engine.ErrInvalid) {
			t.Errorf("%s: %v", name, op.Check())
		}
	}
}

// Undo of a denied list returns each charge with a separate settlement, and releases the permit.
func TestUndoOfAList(t *testing.T) {
	permit := engine.Build(algo.Concurrency, []engine.Rate{engine.Per(5, time.Second)})
	op := engine.Op{Kind: engine.OpReserve, Key: "k", ID: "id", Charges: []engine.Charge{
		{Limit: engine.Build(algo.FixedWindow, []engine.Rate{engine.Per(3, time.Second)}), Cost: 2},
		{Limit: permit, Key: "other", Cost: 1},
	}}
	o := engine.Outcome{Allowed: true, Limits: make([]engine.LimitOutcome, 2)}
	var kinds []engine.Kind
	for i, undo := range o.Undo(&op, 0, time.Second) {
		kinds = append(kinds, undo.Kind)
		if _, key := undo.Subject(0); key != []string{"k", "other"}[i] {
			t.Errorf("charge %d is undone at the key %q", i, key)
		}
		if i == 1 && undo.ID != "id" {
			t.Errorf("the permit of %q is released, want that of id", undo.ID)
		}
	}
	if want := []engine.Kind{engine.OpSettle, engine.OpRelease}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("%s, want %s", kinds, want)
	}
}
