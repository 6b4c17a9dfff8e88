package vectors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// File is a file of cases. Each case starts with an unused key.
type File struct {
	About string `json:"about"`
	Cases []Case `json:"cases"`
}

// Case is a sequence of operations on one subject.
type Case struct {
	// Sets lists the case's sets of limits. Each step applies one of them.
	Sets  [][]Limit `json:"limit_sets"`
	Steps []Step    `json:"steps"`
}

// Step is one operation with its exact answer.
type Step struct {
	At  int64  `json:"at_us"` // the store's time
	Set int    `json:"set"`
	Op  string `json:"op"`
	N   int64  `json:"n"`
	// Costs lists the costs for the individual limits, if they differ. If it is set, N is ignored.
	Costs []int64 `json:"costs"`
	// Ahead is the longest delay, in µs, that a reserve accepts. Of is the step (counted from 1) whose reservation this
	// step settles.
	Ahead int64 `json:"ahead_us"`
	Of    int   `json:"of"`
	// Term is the time that a reservation stays open, in µs, or 0 for no term. Stage is the stage of its settlement:
	// final, report or overdue.
	Term  int64  `json:"term_us"`
	Stage string `json:"stage"`
	Want  Answer `json:"want"`
	// Report holds outcomes of earlier requests, for the limits in the set with an adaptive rate.
	Report *Report `json:"report"`

	reservation *engine.Reservation
}

// Report holds the outcomes of earlier requests.
type Report struct {
	Good  int64 `json:"good"`
	Bad   int64 `json:"bad"`
	Pause int64 `json:"pause_us"`
}

// Answer is the answer to a step. Durations are in µs.
type Answer struct {
	Allowed   bool   `json:"allowed"`
	Limit     int64  `json:"limit"`
	Remaining int64  `json:"remaining"`
	Retry     *int64 `json:"retry_after_us"` // nil means never
	Reset     int64  `json:"reset_after_us"`
	Delay     int64  `json:"delay_us"`
	Granted   int64  `json:"granted,omitempty"`
	Rate      int64  `json:"rate,omitempty"` // the rate in force, in 1/1024 units per period
	Version   int64  `json:"version,omitempty"`
}

// String formats the answer on one line.
func (a Answer) String() string {
	retry := "never"
	if a.Retry != nil {
		retry = fmt.Sprint(*a.Retry)
	}
	text := fmt.Sprintf("allowed=%t limit=%d remaining=%d retry_after_us=%s reset_after_us=%d delay_us=%d granted=%d",
		a.Allowed, a.Limit, a.Remaining, retry, a.Reset, a.Delay, a.Granted)
	if a.Rate != 0 {
		text += fmt.Sprintf(" rate=%d version=%d", a.Rate, a.Version)
	}
	return text
}

// stated returns the answer as stores state it: durations above 292 years become 292 years ([engine.Micros]).
func (a Answer) stated() Answer {
	stated := func(us int64) int64 { return engine.Micros(us).Microseconds() }
	a.Reset, a.Delay = stated(a.Reset), stated(a.Delay)
	if a.Retry != nil {
		a.Retry = new(stated(*a.Retry))
	}
	return a
}

// Difference is a step whose answer differs from the exact answer.
type Difference struct {
	Case, Step int
	Op         string
	Got, Want  string
}

// String formats the difference on one line.
func (d Difference) String() string {
	return fmt.Sprintf("case %d step %d %s: got %s; want %s", d.Case, d.Step, d.Op, d.Got, d.Want)
}

// Parse parses a file. An unknown field, a second JSON value or a file without cases is an error.
func Parse(data []byte) (File, error) {
	var f File
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return f, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return f, errors.New("more than one JSON value")
	}
	if len(f.Cases) == 0 {
		return f, errors.New("no cases")
	}
	return f, nil
}

var kinds = map[string]engine.Kind{
	"take": engine.OpAllow, "peek": engine.OpPeek, "give": engine.OpGive, "atmost": engine.OpAtMost, "count": engine.OpCount, "reset": engine.OpReset,
	"reserve": engine.OpReserve, "settle": engine.OpSettle,
}

var stages = map[string]engine.Stage{"final": engine.Final, "report": engine.Report, "overdue": engine.Overdue}

// Replay runs the file's cases against the store, each on its own key in the given namespace. Before each step, it sets
// the store's clock by calling set. It returns the steps whose answers differ. An error means that the file cannot be
// replayed.
func (f *File) Replay(ctx context.Context, store engine.Store, space string, set func(time.Time)) (different []Difference, err error) {
	for i := range f.Cases {
		found, err := f.Cases[i].replay(ctx, store, space, fmt.Sprintf("case-%d", i), set)
		if err != nil {
			return different, fmt.Errorf("case %d: %w", i, err)
		}
		for _, d := range found {
			d.Case = i
			different = append(different, d)
		}
	}
	return different, nil
}

// Forget resets every key that Replay has used in the namespace.
func (f *File) Forget(ctx context.Context, store engine.Store, space string) error {
	for i := range f.Cases {
		sets, err := f.Cases[i].build()
		if err != nil {
			return fmt.Errorf("case %d: %w", i, err)
		}
		ops := make([]engine.Op, len(sets))
		for j, limits := range sets {
			ops[j] = engine.Op{Kind: engine.OpReset, Space: space, Key: fmt.Sprintf("case-%d", i)}
			for _, limit := range limits {
				ops[j].Charges = append(ops[j].Charges, engine.Charge{Limit: limit})
			}
			c := &f.Cases[i]
			c.under(&ops[j], j, space, fmt.Sprintf("case-%d", i))
		}
		results := make([]engine.Answer, len(ops))
		store.Do(ctx, ops, results)
		for j := range results {
			if results[j].Err != nil {
				return fmt.Errorf("case %d: %w", i, results[j].Err)
			}
		}
	}
	return nil
}

func (c *Case) replay(ctx context.Context, store engine.Store, space, key string, set func(time.Time)) (different []Difference, err error) {
	sets, err := c.build()
	if err != nil {
		return nil, err
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		op, err := c.op(i, sets)
		if err != nil {
			return different, fmt.Errorf("step %d: %w", i, err)
		}
		c.under(&op, s.Set, space, key)
		if err := op.Check(); err != nil {
			return different, fmt.Errorf("step %d: %w", i, err)
		}
		set(time.UnixMicro(s.At))
		var results [1]engine.Answer
		store.Do(ctx, []engine.Op{op}, results[:])
		if results[0].Err != nil {
			return different, fmt.Errorf("step %d: %w", i, results[0].Err)
		}
		if op.Kind == engine.OpReserve && results[0].Allowed {
			s.reservation = results[0].Reservation(&op, op.ID)
		}
		if got, want := s.answer(&results[0]).String(), s.Want.stated().String(); got != want && op.Kind != engine.OpReset {
			different = append(different, Difference{Step: i, Op: fmt.Sprintf("%s %d", s.Op, s.N), Got: got, Want: want})
		}
	}
	return different, nil
}

// op returns the operation for a step, with no namespace and key yet.
func (c *Case) op(i int, sets [][]engine.Limit) (engine.Op, error) {
	s := &c.Steps[i]
	kind, ok := kinds[s.Op]
	if !ok || s.Set < 0 || s.Set >= len(sets) {
		return engine.Op{}, fmt.Errorf("op %q on set %d cannot be replayed", s.Op, s.Set)
	}
	if kind == engine.OpSettle {
		if s.Of < 1 || s.Of > i || c.Steps[s.Of-1].reservation == nil {
			return engine.Op{}, fmt.Errorf("step %d reserved nothing that can be settled", s.Of)
		}
		op := c.Steps[s.Of-1].reservation.SettleEach(s.cost)
		op.Stage = stages[s.Stage]
		return op, nil
	}
	op := engine.Op{Kind: kind, Ahead: micros(s.Ahead)}
	if kind == engine.OpReserve {
		op.ID = fmt.Sprintf("step-%d", i+1)
		if s.Term > 0 {
			op.Term = &engine.Term{Within: micros(s.Term)}
		}
	}
	for j, limit := range sets[s.Set] {
		op.Charges = append(op.Charges, engine.Charge{Limit: limit, Cost: s.cost(j), Choice: c.Sets[s.Set][j].Choice})
		if s.Report != nil && limit.Algorithm().Adapts() {
			op.Charges[j].Report = &algo.Report{Good: s.Report.Good, Bad: s.Report.Bad, Pause: s.Report.Pause}
		}
	}
	return op, nil
}

// cost returns the cost for the limit at an index.
func (s *Step) cost(i int) int64 {
	if i < len(s.Costs) {
		return s.Costs[i]
	}
	return s.N
}

// under sets an operation's namespace and keys, for a set of limits.
func (c *Case) under(op *engine.Op, set int, space, key string) {
	op.Space, op.Key = space, key
	if op.Kind == engine.OpReserve {
		op.ID += " of " + key // the open reservations in a store must have different ids
	}
	for i := range op.Charges {
		if own := c.Sets[set][i].Key; own != "" {
			op.Charges[i].Key = key + own
		}
	}
}

func (c *Case) build() ([][]engine.Limit, error) {
	sets := make([][]engine.Limit, len(c.Sets))
	for i := range c.Sets {
		for j := range c.Sets[i] {
			limit, err := c.Sets[i][j].Build()
			if err != nil {
				return nil, fmt.Errorf("limit_sets.%d.%d: %w", i, j, err)
			}
			sets[i] = append(sets[i], limit)
		}
	}
	return sets, nil
}

func (s *Step) answer(r *engine.Answer) Answer {
	d := r
	a := Answer{
		Allowed: d.Allowed, Limit: d.Binds().Limit, Remaining: d.Binds().Remaining,
		Reset: d.Binds().ResetAfter.Microseconds(), Delay: d.Delay.Microseconds(), Rate: d.Binds().InForce, Version: d.Binds().Version,
	}
	if d.Binds().RetryAfter != engine.Never {
		retry := d.Binds().RetryAfter.Microseconds()
		a.Retry = &retry
	}
	if s.Op == "atmost" || s.Op == "count" {
		a.Granted = d.Granted
	}
	if d.Choice > 0 {
		a.Granted = int64(d.Choice)
	}
	if s.Op == "settle" && r.Found {
		a.Granted = 1
	}
	return a
}
