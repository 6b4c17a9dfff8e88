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
	held := algo.Held{Units: 3, At: 1_790_000_000_000_000, Slot: 1_790_000_000_500_000, Ends: 1_790_000_060_000_000}
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

// termed returns a reservation with a term, and with estimates for its charges.
func termed() *engine.Reservation {
	r := reservation()
	r.Due, r.Term = r.Ends, &engine.Term{Within: time.Minute, Then: engine.ChargeEstimate, Estimates: []int64{3, 7}}
	return r
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
	o := engine.Answer{Allowed: true}
	o.Resize(2)
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
