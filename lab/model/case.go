package model

import "fmt"

// These are the operations of [Subject.Apply].
const (
	Take   = "take"
	Peek   = "peek"
	Give   = "give"
	AtMost = "atmost"
	Count  = "count"
	Reset  = "reset"
)

// File is one file of exact answers.
type File struct {
	About string `json:"about,omitempty"`
	Cases []Case `json:"cases"`
}

// Case is a sequence of operations on one subject, whose key is unused at first.
type Case struct {
	LimitSets [][]Limit `json:"limit_sets"`
	Steps     []Step    `json:"steps"`
}

// Step applies one operation to one of the case's sets of limits.
type Step struct {
	AtUS int64  `json:"at_us"`
	Set  int    `json:"set"`
	Op   string `json:"op"`
	N    int64  `json:"n"`
	// Costs lists the costs for the individual limits, if they differ. If it is set, N is ignored.
	Costs []int64 `json:"costs,omitempty"`
	// AheadUS is the longest delay that a reserve accepts. Of is the step (counted from 1) whose reservation this step
	// settles.
	AheadUS int64 `json:"ahead_us,omitempty"`
	Of      int   `json:"of,omitempty"`
	// TermUS is how long a reservation stays open, or 0 for no term. Stage is the stage of its settlement: final,
	// report or overdue.
	TermUS int64  `json:"term_us,omitempty"`
	Stage  string `json:"stage,omitempty"`
	// Report holds outcomes of earlier requests, for the limits with an adaptive rate.
	Report *Outcomes `json:"report,omitempty"`
	Want   Answer    `json:"want"`
}

// Each returns the step's cost for each limit: Costs if it is set, and otherwise N for all limits.
func (s *Step) Each(limits []Limit) []int64 {
	if s.Costs != nil {
		return s.Costs
	}
	return each(limits, s.N)
}

// Answer is a decision. Limit, Remaining and ResetAfterUS belong to the binding limit (rule 5).
type Answer struct {
	Allowed      bool   `json:"allowed"`
	Limit        int64  `json:"limit"`
	Remaining    int64  `json:"remaining"`
	RetryAfterUS *int64 `json:"retry_after_us"` // 0 if allowed, nil for Never
	ResetAfterUS int64  `json:"reset_after_us"`
	DelayUS      int64  `json:"delay_us"`
	Rate         int64  `json:"rate,omitempty"` // for an adaptive rate: the rate in force, in 1/1024 units per period, and its version
	Version      int64  `json:"version,omitempty"`
	Held         int64  `json:"held,omitempty"` // for a fair-concurrency limit: all permits, the key's own, and the number of heavy keys
	Own          int64  `json:"own,omitempty"`
	Heavy        int64  `json:"heavy,omitempty"`
	Granted      *int64 `json:"granted,omitempty"` // for AtMost and Count; for Settle, 1 if it settled the reservation; for choices, the choice that was charged
}

// Equal reports whether both answers are equal.
func (a Answer) Equal(b Answer) bool {
	same := equalPtr(a.RetryAfterUS, b.RetryAfterUS) && equalPtr(a.Granted, b.Granted)
	a.RetryAfterUS, a.Granted = b.RetryAfterUS, b.Granted
	return same && a == b
}

// String formats the answer on one line, for test failures.
func (a Answer) String() string {
	s := fmt.Sprintf("allowed=%t limit=%d remaining=%d retry=%s reset=%d delay=%d",
		a.Allowed, a.Limit, a.Remaining, showPtr(a.RetryAfterUS, "never"), a.ResetAfterUS, a.DelayUS)
	if a.Rate != 0 {
		s += fmt.Sprintf(" rate=%d version=%d", a.Rate, a.Version)
	}
	if a.Held != 0 {
		s += fmt.Sprintf(" held=%d own=%d heavy=%d", a.Held, a.Own, a.Heavy)
	}
	if a.Granted != nil {
		s += fmt.Sprintf(" granted=%d", *a.Granted)
	}
	return s
}

func equalPtr(a, b *int64) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func showPtr(p *int64, none string) string {
	if p == nil {
		return none
	}
	return fmt.Sprint(*p)
}
