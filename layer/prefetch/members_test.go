package prefetch_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/layer/membership"
)

// Regression: bug 43. A process that the others might no longer count, or that belongs to a group that was lost,
// prefetches nothing until all other processes count it again. The test checks that the processes therefore never hold
// more units than they state, and that prefetching resumes.
func TestRejoiningProcessWaitsUntilCounted(t *testing.T) {
	const long = 20 * time.Second
	for name, disturb := range map[string]func(w *world){
		"late join": func(w *world) { w.join() },
		"back after its life": func(w *world) {
			w.nodes[0].set(true, 0, 0)
			time.Sleep(membership.Life + 2*time.Second)
			w.nodes[0].set(false, 0, 0)
			time.Sleep(time.Second)
		},
		"a beat that is late": func(w *world) {
			w.nodes[0].set(true, 0, 0)
			time.Sleep(membership.Life - 600*time.Millisecond)
			w.nodes[0].set(false, 900*time.Millisecond, 0)
			time.Sleep(2 * time.Second)
		},
		"the group is lost": func(w *world) {
			w.group.lose(w.t)
			time.Sleep(time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, 3)
				defer w.close()
				time.Sleep(long)
				if units, said := w.holds(); units < 300 || units > said || said > 500 {
					t.Errorf("before: %d units are held, said %d", units, said)
				}
				time.Sleep(long)
				disturb(w)
				for range 12 { // until the waiting time has passed
					if units, said := w.holds(); units > said {
						t.Errorf("%d units are held, said %d", units, said)
					}
					time.Sleep(1500 * time.Millisecond)
				}
				if units, said := w.holds(); units < 300 || units > said || said > 500 {
					t.Errorf("afterwards: %d units are held, said %d", units, said)
				}
			})
		})
	}
}

// A process that rejoins prefetches nothing for two beats and a life, counted from the time when it learned that it
// had rejoined.
func TestRejoiningProcessWaitsTwoBeatsAndALife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, 2)
		defer w.close()
		time.Sleep(20 * time.Second)
		n := w.nodes[0]
		n.set(true, 0, 0)
		time.Sleep(membership.Life + 500*time.Millisecond)
		if got := n.store.Stats().Members; got != 0 {
			t.Errorf("cut off for longer than a process is counted: %d members are known", got)
		}
		n.set(false, 0, 0)
		for range 34 { // the next beat is half a second away
			time.Sleep(100 * time.Millisecond)
			if got := n.store.Stats().Members; got != 0 {
				t.Errorf("back for less than two beats and a life: %d members", got)
			}
			if got := w.nodes[1].store.Stats().Members; got == 0 {
				t.Error("the other process knows no number")
			}
		}
		time.Sleep(time.Second)
		if got := n.store.Stats().Members; got != 2 {
			t.Errorf("%d members, want 2", got)
		}
	})
}

// Processes come and go, lose their connection to the group, reconnect, and get late answers, and the group is lost.
// The processes never hold more units than they state.
func TestBoundAtAllTimes(t *testing.T) {
	for seed := range uint64(raced.Size(10, 4)) { // see turns
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 43))
			w := start(t, 1+r.IntN(4))
			defer w.close()
			held := int64(0)
			for step := range 150 {
				n := w.nodes[r.IntN(len(w.nodes))]
				switch what := r.IntN(12); {
				case what == 0 && len(w.nodes) < 6:
					w.join()
				case what == 1 && len(w.nodes) > 1:
					at := r.IntN(len(w.nodes))
					if err := w.nodes[at].store.Close(); err != nil {
						t.Error(err)
					}
					w.nodes = append(w.nodes[:at], w.nodes[at+1:]...)
				case what == 2:
					w.group.lose(t)
				case what < 6:
					n.set(true, 0, 0)
				default:
					n.set(false, time.Duration(r.IntN(600))*time.Millisecond, time.Duration(r.IntN(600))*time.Millisecond)
				}
				time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
				units, said := w.holds()
				if held += units; units > said {
					t.Errorf("seed %d, step %d: %d units are held, said %d", seed, step, units, said)
				}
			}
			if held < 500 {
				t.Errorf("seed %d: only %d units were held in all", seed, held)
			}
		})
	}
}
