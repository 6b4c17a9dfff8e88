package queue

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

func ready[W any](w *Waiter[W]) bool {
	select {
	case <-w.Ready():
		return true
	default:
		return false
	}
}

// A waiter receives a wake-up when it becomes first, even if earlier waiters leave from any position.
func TestFirstWaiterIsNotified(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var q Queue[struct{}, int]
		var in []*Waiter[int]
		for step := range 50 {
			if random.IntN(2) == 0 {
				after := random.IntN(len(in) + 1)
				in = slices.Insert(in, len(in)-after, q.insert(step, after))
			} else if len(in) > 0 {
				at := random.IntN(len(in))
				if !q.Leave(in[at]) || q.Leave(in[at]) {
					t.Fatal("a waiter leaves once")
				}
				in = slices.Delete(in, at, at+1)
			}
			order := make([]*Waiter[int], 0, len(in))
			for w := q.first; w != nil; w = w.after {
				order = append(order, w)
			}
			if !slices.Equal(order, in) || q.Len() != len(in) || len(in) > 0 && q.last != in[len(in)-1] {
				t.Fatalf("%d waiters, want %d in their order", len(order), len(in))
			}
		}
		for len(in) > 0 {
			if !q.First(in[0]) || !ready(in[0]) {
				t.Fatal("the first waiter was not told")
			}
			q.Leave(in[0])
			in = in[1:]
		}
	}
}

// A name is deleted with its last waiter. A waiter has at most one pending wake-up.
func TestSetForgetsNames(t *testing.T) {
	var s Set[string, int, struct{}]
	var w *Waiter[struct{}]
	s.Do("a", func(q *Queue[int, struct{}]) { w, q.State = q.Add(struct{}{}), 7 })
	ready(w)
	s.WakeAll("a")
	s.WakeAll("a")
	s.WakeAll("b")
	if s.None("a") || !s.None("b") || !ready(w) || ready(w) {
		t.Error("one waiter of a, woken once")
	}
	s.Do("a", func(q *Queue[int, struct{}]) {
		if q.State != 7 {
			t.Error("the state is lost")
		}
		q.Leave(w)
	})
	s.Do("b", func(*Queue[int, struct{}]) {})
	if !s.None("a") || len(s.byName) != 0 || s.queues.Load() != 0 {
		t.Errorf("%d queues are left", len(s.byName))
	}
}

// When many waiters leave at the same time, in any order, callers with another name still get their turns. Each waiter
// leaves in constant time (BenchmarkLeave measures it), so the callers with the other name continue even if they
// alternate with the leaving waiters.
func TestManyLeaveAtOnce(t *testing.T) {
	const many = 100_000
	var s Set[string, struct{}, struct{}]
	waiters := make([]*Waiter[struct{}], many)
	s.Do("a", func(q *Queue[struct{}, struct{}]) {
		for i := range waiters {
			waiters[i] = q.Add(struct{}{})
		}
	})
	rand.New(rand.NewPCG(3, 4)).Shuffle(many, func(i, j int) { waiters[i], waiters[j] = waiters[j], waiters[i] })
	var departures sync.WaitGroup
	for part := range slices.Chunk(waiters, many/8) {
		departures.Go(func() {
			for _, w := range part {
				s.Do("a", func(q *Queue[struct{}, struct{}]) { q.Leave(w) })
			}
		})
	}
	for range 1000 {
		var w *Waiter[struct{}]
		s.Do("b", func(q *Queue[struct{}, struct{}]) { w = q.Add(struct{}{}) })
		<-w.Ready()
		s.Do("b", func(q *Queue[struct{}, struct{}]) { q.Leave(w) })
	}
	departures.Wait()
	if !s.None("a") || !s.None("b") {
		t.Error("somebody is left")
	}
}

// Leaving a queue of a million waiters takes as long as leaving a queue of 10, apart from cache misses.
func BenchmarkLeave(b *testing.B) {
	for _, length := range []int{10, 1_000_000} {
		b.Run(map[bool]string{false: "of 10", true: "of a million"}[length > 10], func(b *testing.B) {
			var q Queue[struct{}, struct{}]
			waiters := make([]*Waiter[struct{}], length)
			for i := range waiters {
				waiters[i] = q.Add(struct{}{})
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				at := (i * 7919) % length
				q.Leave(waiters[at])
				waiters[at] = q.Add(struct{}{})
			}
		})
	}
}
