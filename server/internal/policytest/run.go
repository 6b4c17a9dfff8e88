package policytest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy/decide"
)

// Difference is one field of an answer that differs from the expectation.
type Difference struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Test     string `json:"test"`
	Step     int    `json:"step"` // counts from 1
	Field    string `json:"field"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
}

// String formats the difference as one line.
func (d *Difference) String() string {
	return fmt.Sprintf("%s:%d: %s: step %d: %s: expected %s, got %s", d.File, d.Line, d.Test, d.Step, d.Field, d.Expected, d.Got)
}

// Result is the outcome of a test file.
type Result struct {
	File        string       `json:"file"`
	Tests       int          `json:"tests"`
	Steps       int          `json:"steps"`
	Differences []Difference `json:"differences"`
}

// Run runs the tests, each with an empty store.
func (f *File) Run(ctx context.Context) (r Result, err error) {
	r = Result{File: f.Name, Tests: len(f.Tests), Differences: []Difference{}}
	for i := range f.Tests {
		r.Steps += len(f.Tests[i].Steps)
		if err := f.runTest(ctx, i, &r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// runner runs the steps of one test.
type runner struct {
	*File
	rules decide.Rules
}

func (f *File) runTest(ctx context.Context, place int, r *Result) error {
	test := &f.Tests[place]
	var now atomic.Pointer[time.Time]
	now.Store(&test.begin)
	store, err := memstore.New(memstore.Config{Clock: func() time.Time { return *now.Load() }})
	if err != nil {
		return err
	}
	limiter := core.New(core.Config{Store: store})
	run := runner{f, decide.Rules{Limiter: limiter}}
	for i := range test.Steps {
		step := &test.Steps[i]
		now.Store(new(test.begin.Add(step.after)))
		for _, m := range run.step(ctx, step) {
			r.Differences = append(r.Differences, Difference{
				File: f.Name, Line: f.line(place, i, m.field), Test: *test.Name, Step: i + 1, Field: m.field, Expected: m.expected, Got: m.got,
			})
		}
	}
	return errors.Join(ctx.Err(), limiter.Close(), store.Close())
}

// step runs a step the given number of times. All answers must have the expected verdict. The other expectations
// apply to the last answer.
func (r *runner) step(ctx context.Context, s *Step) []mismatch {
	times := int64(1)
	if s.Times != nil {
		times = *s.Times
	}
	var got stepAnswer
	for i := range times {
		got = r.call(ctx, s)
		if wrong := got.verdictMismatch(s); wrong != nil && times > 1 {
			wrong.got += fmt.Sprintf(" (call %d of %d)", i+1, times)
			return []mismatch{*wrong}
		}
	}
	return got.mismatches(s)
}

// call makes a single request for a step.
func (r *runner) call(ctx context.Context, s *Step) stepAnswer {
	request := decide.Request{}
	if s.http != nil {
		if err := r.config.Routes.Check(s.http); err != nil {
			return stepAnswer{route: -1, status: http.StatusBadRequest}
		}
		m, ok := r.config.Routes.Find(s.http)
		if !ok {
			none := stepAnswer{route: -1}
			none.Allowed, none.Binds().Unlimited = true, true
			return none
		}
		request = decide.Routed(&m)
		request.Holds = true
	} else {
		request.Kind, request.Policy, request.Key = kindOf(s), *s.Policy, *s.Key
		if s.Cost != nil {
			request.Cost, request.HasCost = *s.Cost, true
		}
		if s.Class != nil {
			request.Class = *s.Class
		}
	}
	if s.ID != nil {
		request.ID = *s.ID
	}
	b := r.rules.Begin(r.config.Policies, 1, nil)
	defer b.End()
	b.Add(&request)
	b.Do(ctx)
	responses := make([]decide.Response, 1)
	b.Answer(0, &responses[0])
	if held := responses[0].Permits; held != nil && s.ID == nil { // the request ends before the next step
		_ = held.Release(ctx) // cannot fail in memory
	}
	return answerOf(&request, &responses[0], b.Shadows(responses))
}

// kindOf returns the operation that a step's do field names, or OpAllow if the field is not set.
func kindOf(s *Step) engine.Kind {
	if s.Do == nil {
		return engine.OpAllow
	}
	return kinds[slices.Index(verbs(), *s.Do)]
}

// kinds lists the operations that a step can make.
var kinds = [...]engine.Kind{engine.OpAllow, engine.OpPeek, engine.OpGive, engine.OpReset, engine.OpAcquire, engine.OpRelease}

// verbs returns the accepted values of the do field.
func verbs() []string {
	words := make([]string, len(kinds))
	for i, kind := range kinds {
		words[i] = kind.String()
	}
	return words
}
