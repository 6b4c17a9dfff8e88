package model_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/lab/model"
	"github.com/headgate/headgate/lab/script"
)

// These tests check every value in an answer by trial: the wait (rule 3), the remaining units (section 5) and the
// reset.

func TestVectorsBruteForce(t *testing.T) {
	paths, _ := filepath.Glob("../../storetest/vectors/*.json")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var f model.File
		if err := json.Unmarshal(data, &f); err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Cases {
			tryCase(t, c)
		}
	}
}

func TestScriptsBruteForce(t *testing.T) {
	for i := range uint64(raced.Size(40, 8)) {
		opts := script.Options{ClockSteps: i%2 > 0, Changes: i%4 > 1, All: i%8 > 3, Big: i%16 > 7, Extras: i%5 > 2}
		for _, algorithm := range script.Algorithms {
			tryCase(t, script.Generate(rand.New(rand.NewPCG(i, 3)), algorithm, 100, opts))
		}
	}
}

func tryCase(t *testing.T, c model.Case) {
	t.Helper()
	s := model.New()
	for i, step := range c.Steps {
		limits := c.LimitSets[step.Set]
		got := s.Apply(limits, step.Op, step.N, step.AtUS)
		if step.Op == model.Peek || step.N == 0 {
			continue // nothing was written, so the answer cannot be checked by trial
		}
		for _, try := range []func(*model.Subject, []model.Limit, model.Step, model.Answer) string{tryWait, tryRemaining, tryReset} {
			if wrong := try(s, limits, step, got); wrong != "" {
				t.Fatalf("%+v step %d: %s %d at %d: %v: %s", limits, i, step.Op, step.N, step.AtUS, got, wrong)
			}
		}
	}
}

// tryWait checks that the denied request passes after the wait, but not one µs earlier.
func tryWait(s *model.Subject, limits []model.Limit, step model.Step, got model.Answer) string {
	n := step.N
	if step.Op == model.AtMost || step.Op == model.Count { // a count can exceed the limit
		n = 1
	}
	passes := func(s *model.Subject, at int64) bool { return s.Clone().Apply(limits, model.Take, n, at).Allowed }
	switch us := got.RetryAfterUS; {
	case got.Allowed:
		return ""
	case us == nil && passes(model.New(), step.AtUS):
		return "never, and yet it passes untouched"
	case us != nil && !passes(s, step.AtUS+*us):
		return "denied after the wait"
	case us != nil && passes(s, step.AtUS+*us-1):
		return "passes before the wait"
	}
	return ""
}

// tryRemaining checks that the remaining units pass now, and that one more unit does not. It skips limits that admit
// more than the remaining units, because units can be queued, owed or paid for by the next caller.
func tryRemaining(s *model.Subject, limits []model.Limit, step model.Step, got model.Answer) string {
	if l := limits[0]; len(limits) > 1 || l.Algorithm == model.Pacer || l.Debt > 0 || l.NextPays {
		return ""
	}
	passes := func(n int64) bool { return s.Clone().Apply(limits, model.Take, n, step.AtUS).Allowed }
	p := s.Apply(limits, model.Peek, 1, step.AtUS)
	left := p.Remaining
	switch {
	case !p.Allowed: // the window with the longest wait may have some units left
		return ""
	case !passes(left):
		return "the remaining units do not pass"
	case passes(left + 1):
		return "more than the remaining units pass"
	}
	return ""
}

// tryReset checks that all units are available after the reset, but not one µs earlier.
func tryReset(s *model.Subject, limits []model.Limit, step model.Step, got model.Answer) string {
	// An adaptive rate is skipped, because it keeps its rate.
	if len(limits) > 1 || len(limits[0].Windows) > 1 || got.ResetAfterUS == 0 || limits[0].Algorithm == model.AdaptiveRate {
		return ""
	}
	at := step.AtUS + got.ResetAfterUS
	switch {
	case !s.Apply(limits, model.Peek, 1, at).Equal(model.New().Apply(limits, model.Peek, 1, at)):
		return "not as untouched after the reset"
	case s.Apply(limits, model.Peek, 1, at-1).ResetAfterUS != 1:
		return "untouched before the reset"
	}
	return ""
}

func TestLeasesBruteForce(t *testing.T) {
	for i := range uint64(raced.Size(40, 8)) {
		opts := script.Options{ClockSteps: i%2 > 0, Changes: i%4 > 1, Extras: i%8 > 3}
		c := script.GenerateLeases(rand.New(rand.NewPCG(i, 3)), 200, opts)
		s := model.New()
		for j, step := range c.Steps {
			l := c.Limits[step.Limit]
			got := s.ApplyLease(l, step)
			if got.Allowed || step.Op != model.Acquire || got.RetryAfterUS == nil {
				continue
			}
			at := step.AtUS + *got.RetryAfterUS
			if !s.Clone().Acquire(l, step.ID, step.Cost, step.LeaseUS, at).Allowed ||
				s.Clone().Acquire(l, step.ID, step.Cost, step.LeaseUS, at-1).Allowed {
				t.Fatalf("%+v step %d: %+v: the wait of %v does not hold", l, j, step, got)
			}
		}
	}
}
