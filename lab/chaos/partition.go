package chaos

import (
	"fmt"
	"time"

	"github.com/headgate/headgate/lab/redistest"
)

// stops is how long a primary may accept charges after it was cut off from the other nodes: the node timeout, the
// interval of Redis's checks, and a second for a busy machine.
const stops = redistest.NodeTimeout + 200*time.Millisecond + time.Second

// partition cuts the hot keys' primary off from the other nodes, while the processes still reach all nodes. It checks
// that the primary stops in time, because the majority elects another primary, and writes to the old primary are lost.
func (w *world) partition() failing {
	var primary *redistest.Server
	var healed, watched chan struct{}
	return failing{
		func() {
			_, primary = w.nodes.Of(hot())
			healed, watched = make(chan struct{}), make(chan struct{})
			w.nodes.Part(primary)
			go func() {
				defer close(watched)
				w.watchMinority(primary, healed)
			}()
		},
		func() {
			close(healed)
			<-watched
			w.nodes.Heal()
		},
	}
}

// watchMinority writes to a primary that was cut off until the nodes are connected again. It records when the other
// nodes elect another primary.
func (w *world) watchMinority(primary *redistest.Server, healed <-chan struct{}) {
	began := w.callers.now()
	before := len(w.nodes.Primaries())
	w.elected = 0
	for {
		select {
		case <-healed:
			return
		case <-time.After(10 * time.Millisecond):
		}
		if w.elected == 0 && len(w.nodes.Primaries()) > before {
			w.elected = w.callers.now()
		}
		if _, err := primary.Do("set", hot()+"/written", "v", "px", 1000); err != nil {
			continue
		}
		if after := w.callers.now() - began; after > stops {
			w.minority = append(w.minority, violation{"minority", fmt.Sprintf("a primary without the other nodes took a write %s after it was cut off at %s, the bound is %s", after, seconds(began), stops)})
			return
		}
	}
}
