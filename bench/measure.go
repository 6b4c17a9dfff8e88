package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// contender is one limiter at one kind of work.
type contender struct {
	name string
	ours bool
	// ask makes one decision about a key, and reports an error.
	ask func(key string) error
	// rate asks by other means instead, for some time, and tells how many keys a
	// second were decided.
	rate func(lasts time.Duration) (float64, error)
	// done ends it.
	done func()
}

func finish(contenders []contender) {
	for _, c := range contenders {
		if c.done != nil {
			c.done()
		}
	}
}

// load is how a row asks.
type load struct {
	row     string // its name among the profiles
	callers int
	keys    []string
	// zipf asks for few keys most, the first for a tenth or more.
	zipf bool
	// perSecond is the rate at which is asked, whatever the answers take; 0 is
	// as fast as they come.
	perSecond float64
	// timed has each decision's time taken though no rate is given.
	timed bool
}

// sample is what one contender did in one round.
type sample struct {
	perSecond float64
	p50, p99  time.Duration // where a rate was given, or there was one caller
	p9999     time.Duration
	mallocs   float64 // a decision
	writes    float64 // of this process to the system, a decision
	asked     int64
	failed    int64
}

// measured asks for a while, from all callers, keys at random.
func measured(c contender, l load, lasts time.Duration) sample {
	var asked, failed atomic.Int64
	var wg sync.WaitGroup
	timed := l.perSecond > 0 || l.callers == 1 || l.timed
	took := make([][]time.Duration, l.callers)
	picks := l.picks()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	writes := systemWrites()
	start := time.Now()
	for n := range l.callers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
			caller := caller{contender: c, load: l, start: start, stop: start.Add(lasts), random: random, picks: picks}
			if l.zipf {
				caller.picked = random.IntN(len(picks))
			}
			if timed {
				caller.timed(n)
			} else {
				caller.flatOut()
			}
			asked.Add(caller.asked)
			failed.Add(caller.failed)
			took[n] = caller.took
		})
	}
	wg.Wait()
	seconds := time.Since(start).Seconds()
	writes = systemWrites() - writes
	runtime.ReadMemStats(&after)
	s := sample{perSecond: float64(asked.Load()) / seconds, asked: asked.Load(), failed: failed.Load()}
	s.mallocs = float64(after.Mallocs-before.Mallocs) / float64(asked.Load())
	s.writes = float64(writes) / float64(asked.Load())
	if all := slices.Concat(took...); len(all) > 0 {
		slices.Sort(all)
		s.p50, s.p99, s.p9999 = all[len(all)/2], all[len(all)*99/100], all[len(all)*9999/10000]
	}
	return s
}

// interleave runs the contenders one after another, round after round, so that
// what else the machine does meets them all, and returns each one's rounds. What
// fails is no decision: one in a thousand is an error.
func interleave(contenders []contender, l load, s settings) ([][]sample, error) {
	all := make([][]sample, len(contenders))
	for round := range s.rounds {
		// Once a round: where a million keys are there, it takes longer than to measure.
		runtime.GC()
		for i := range contenders {
			at := (i + round) % len(contenders)
			time.Sleep(20 * time.Millisecond)
			one, err := turn(contenders[at], l, s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", contenders[at].name, err)
			}
			all[at] = append(all[at], one)
		}
	}
	return all, nil
}

// turn is one contender's part of a round.
func turn(c contender, l load, s settings) (one sample, err error) {
	if c.rate != nil {
		one.perSecond, err = c.rate(s.lasts)
		return one, err
	}
	watched := s.profiles
	if !c.ours {
		watched = nil
	}
	if err := watched.during(l.row, c.name, func() { one = measured(c, l, s.lasts) }); err != nil {
		return one, err
	}
	if one.failed*1000 > one.asked {
		return one, fmt.Errorf("%d of %d failed", one.failed, one.asked)
	}
	return one, nil
}

// median returns that of a number of each round.
func median(samples []sample, number func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = number(s)
	}
	return middle(values)
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// compare makes a table's lines of a number of each round.
func compare(contenders []contender, samples [][]sample, number func(sample) float64) (lines []line) {
	for i, c := range contenders {
		if i == len(samples) || len(samples[i]) == 0 {
			break // an error says why
		}
		lines = append(lines, line{name: c.name, ours: c.ours, value: median(samples[i], number)})
	}
	return lines
}

func nanoseconds(s sample) float64 { return 1e9 / s.perSecond }
func perSecondOf(s sample) float64 { return s.perSecond }
