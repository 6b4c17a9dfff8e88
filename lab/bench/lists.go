package main

import (
	"context"
	"errors"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/stack"
)

const (
	oneList  = "headgate, a list of four"
	oneByOne = "the same four, one by one"
	takeFour = "allow of four limits"
)

var errDenied = errors.New("denied")

// model holds the policies for calls to a language model. They deny no calls in the benchmark.
type model struct {
	*headgate.Limiter

	requests, tokens, daily, budget *headgate.Policy
	streams                         *headgate.Semaphore
}

func newModel(l *headgate.Limiter) *model {
	return &model{
		Limiter:  l,
		requests: l.PolicyOf("requests", rule.FixedWindow(rule.PerMinute(1_000_000_000))),
		tokens:   l.PolicyOf("tokens", rule.TokenBucket(rule.PerMinute(4_000_000_000))),
		daily:    l.PolicyOf("daily", rule.FixedWindow(rule.PerDay(4_000_000_000))),
		budget:   l.PolicyOf("budget", rule.FixedWindow(engine.Rate{Count: 4_000_000_000, Months: 1}, rule.Align("UTC"))),
		streams:  l.SemaphoreOf("streams", rule.Concurrency(100_000, rule.LeaseTime(time.Second))),
	}
}

// rates returns the charges for a call of the user, except the permit.
func (m *model) rates(user string) []headgate.Charge {
	return []headgate.Charge{{Policy: m.requests, Key: user, Units: 1}, {Policy: m.tokens, Key: user, Units: 40}, {Policy: m.budget, Key: organisation(user), Units: 3}}
}

// organisation returns the user's organisation, one of a hundred.
func organisation(user string) string { return "org" + user[len(user)-2:] }

func (m *model) reserve(ctx context.Context, charges ...headgate.Charge) (*headgate.Reservation, error) {
	r, _, err := m.ReserveAll(ctx, charges...)
	if r == nil && err == nil {
		err = errDenied
	}
	return r, err
}

// whole makes a language model call whose limits are reserved and settled as one list.
func (m *model) whole(ctx context.Context, user string) error {
	r, err := m.reserve(ctx, append(m.rates(user), headgate.Charge{Semaphore: m.streams, Key: organisation(user), Units: 1})...)
	if err != nil {
		return err
	}
	_, err = r.Commit(ctx, 1, 15, 1, 0)
	return err
}

// parts makes the same call, with its four limits reserved and settled separately.
func (m *model) parts(ctx context.Context, user string) error {
	var held [3]*headgate.Reservation
	for i, c := range m.rates(user) {
		r, d, err := c.Policy.Reserve(ctx, c.Key, c.Units)
		if err = errors.Join(err, d.Err()); err != nil {
			return err
		}
		held[i] = r
	}
	permit, d, err := m.streams.TryAcquire(ctx, organisation(user), 1)
	if err = errors.Join(err, d.Err()); err != nil {
		return err
	}
	for i, used := range []int64{1, 15, 1} {
		_, failed := held[i].Commit(ctx, used)
		err = errors.Join(err, failed)
	}
	return errors.Join(err, permit.Release(ctx))
}

// lists makes two comparisons: a language model call as one list with separate requests for its limits, and a reserve
// with an allow on the same number of limits.
func lists(ctx context.Context, s settings) (tables []table, err error) {
	servers, err := startPrograms(ctx, redisProgram, 5)
	if err != nil {
		return nil, err
	}
	defer stopAll(servers)
	ctx = context.WithoutCancel(ctx)
	var contenders []contender
	defer func() { finish(contenders) }()
	for i, c := range []struct {
		name string
		ask  func(m *model, user string) error
	}{
		{oneList, func(m *model, user string) error { return m.whole(ctx, user) }},
		{oneByOne, func(m *model, user string) error { return m.parts(ctx, user) }},
		{"headgate, reserve of four limits", func(m *model, user string) error {
			_, err := m.reserve(ctx, append(m.rates(user), headgate.Charge{Policy: m.daily, Key: user, Units: 40})...)
			return err
		}},
		{"headgate, reserve of three and a permit", func(m *model, user string) error {
			_, err := m.reserve(ctx, append(m.rates(user), headgate.Charge{Semaphore: m.streams, Key: organisation(user), Units: 1})...)
			return err
		}},
		{takeFour, func(m *model, user string) error {
			d, err := m.AllowAll(ctx, append(m.rates(user), headgate.Charge{Policy: m.daily, Key: user, Units: 40})...)
			return errors.Join(err, d.Err())
		}},
	} {
		store, err := open(ctx, "redis://"+servers[i].address, stack.Config{})
		if err != nil {
			return nil, err
		}
		m := newModel(headgate.New(headgate.WithStore(store)))
		contenders = append(contenders, watched(contender{name: c.name, ours: i != 1 && i != 4, ask: func(key string) error { return c.ask(m, key) }, done: func() { _, _ = m.Close(), store.Close() }}, servers[i]))
	}
	users := names(100_000)
	crowd, err := interleave(contenders, load{row: "lists", callers: 512, keys: users}, s)
	if err != nil {
		return nil, err
	}
	quiet, err := interleave(contenders[:2], load{row: "lists alone", callers: 1, keys: users}, s)
	if err != nil {
		return nil, err
	}
	return []table{
		{
			title: "A call of a language model, reserved and committed on one Redis, 512 callers", unit: "calls/s", lines: compare(contenders[:2], crowd[:2], perSecondOf), costs: true,
			note: "Requests and tokens of one of 100 000 users, and a monthly budget and a permit of one of 100 organisations. One by\none, a call that is denied by the last limit has been charged by the others.",
		},
		{title: "The same, one caller", unit: "p50, µs", lower: true, lines: compare(contenders[:2], quiet, micros50)},
		{title: "A reserve beside an allow on one Redis, 512 callers", unit: "decisions/s", reach: 0.67, lines: compare(contenders[2:], crowd[2:], perSecondOf)},
	}, nil
}
