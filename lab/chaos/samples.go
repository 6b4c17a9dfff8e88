package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"
)

// A sample is the history of one new key: concurrent takes and peeks through all processes, over HTTP and RESP. The
// answers must be the same as a counter's for some sequential order of the operations. The limits refill so slowly that
// no unit becomes available again during a sample.
const (
	sampleLimit = 20
	samplePause = time.Second
	sampleOps   = 6 // per caller
	// sampleTakes is the maximum duration of a sample. settled is the time between a fault and the next sample.
	sampleTakes = time.Second
	settled     = 6 * time.Second
	// searches limits how long to search for an order. For so few operations, the search takes milliseconds.
	searches = 10 * time.Second
)

// samplePolicies lists the policies to sample. Each of their decisions is either exact or a repeated denial, which
// stays correct because no unit becomes available again.
var samplePolicies = map[string]string{
	"sample-fixed":  "algorithm: fixed-window, limit: 20, window: 1h",
	"sample-bucket": "algorithm: token-bucket, rate: 20/1h",
	"sample-log":    "algorithm: sliding-log, limit: 20, window: 1h",
}

// errInSight is the error for a sample that is dropped because it may overlap a fault.
var errInSight = errors.New("a request of the sample had no exact answer")

// take is an operation in a sample: an allow of one unit, or a peek if Peek is set. stood is its answer.
type take struct{ Peek bool }

type stood struct {
	Allowed   bool
	Remaining int64
}

// counter is the sequential model: a count of the charged units.
var counter = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(before, input, output any) (bool, any) {
		spent := before.(int64)
		want := stood{Allowed: spent < sampleLimit}
		if want.Allowed && !input.(take).Peek {
			spent++
		}
		want.Remaining = sampleLimit - spent
		return want == output, spent
	},
}

// sampler takes samples one at a time, while no fault is near.
type sampler struct {
	w       *world
	resp    []*redis.Client
	checked int
	broken  []violation // read only after run has ended
}

func newSampler(w *world) *sampler {
	s := &sampler{w: w}
	for _, p := range w.processes {
		s.resp = append(s.resp, redis.NewClient(&redis.Options{Addr: p.resp, MaxRetries: -1, PoolSize: 1, ReadTimeout: callerPatience, DisableIdentity: true}))
	}
	return s
}

// run takes samples until the callers stop.
func (s *sampler) run() {
	defer func() {
		for _, client := range s.resp {
			_ = client.Close()
		}
	}()
	names := []string{"sample-fixed", "sample-bucket", "sample-log"}
	for n := 0; !s.w.callers.stop.Load(); n++ {
		time.Sleep(samplePause)
		if s.w.schedule.inSight(s.w.callers.now()) {
			continue
		}
		policy := names[n%len(names)]
		history, err := s.sample(policy, fmt.Sprint("sample-", n))
		if err != nil {
			continue // a fault or the end of the run came too soon
		}
		s.checked++
		if result := porcupine.CheckOperationsTimeout(counter, history, searches); result != porcupine.Ok {
			s.broken = append(s.broken, violation{"order", fmt.Sprintf("%s: no order of %d requests at %s has their answers: %s", policy, len(history), seconds(s.w.callers.now()), result)})
			return
		}
	}
}

// inSight reports whether a fault may affect a sample that begins at the given time. The sampled policies are the
// same in both versions of the file.
func (s schedule) inSight(at time.Duration) bool {
	return slices.ContainsFunc(s.Events, func(e event) bool {
		return e.Fault != versions && e.At <= at+sampleTakes && at <= e.At+e.Lasts+settled
	})
}

// sample sends the requests for one key and returns their history.
func (s *sampler) sample(policy, key string) (history []porcupine.Operation, err error) {
	var mu sync.Mutex
	var works sync.WaitGroup
	keep := func(client int, peek bool, send func() (stood, error)) {
		call := s.w.callers.now()
		out, failed := send()
		o := porcupine.Operation{ClientId: client, Input: take{peek}, Call: int64(call), Output: out, Return: int64(s.w.callers.now())}
		mu.Lock()
		defer mu.Unlock()
		history, err = append(history, o), errors.Join(err, failed)
	}
	for i, p := range s.w.processes {
		for caller := range 2 {
			works.Go(func() {
				for range sampleOps {
					peek := rand.IntN(4) == 0
					keep(3*i+caller, peek, func() (stood, error) { return s.overHTTP(p.http, policy, key, peek) })
				}
			})
		}
		works.Go(func() {
			for range sampleOps {
				keep(3*i+2, false, func() (stood, error) { return overRESP(s.resp[i], policy, key) })
			}
		})
	}
	works.Wait()
	return history, err
}

func (s *sampler) overHTTP(address, policy, key string, peek bool) (stood, error) {
	path := "/v1/allow"
	if peek {
		path = "/v1/peek"
	}
	var d struct {
		Allowed   bool   `json:"allowed"`
		Remaining int64  `json:"remaining"`
		Mode      string `json:"mode"`
	}
	status, class := s.w.callers.post(address, path, map[string]any{"policy": policy, "key": key}, &d)
	if class != "" || status != http.StatusOK && status != http.StatusTooManyRequests || d.Mode == "fallback" {
		return stood{}, errInSight
	}
	return stood{d.Allowed, d.Remaining}, nil
}

func overRESP(client *redis.Client, policy, key string) (stood, error) {
	words, err := client.Do(context.Background(), "HEADGATE.ALLOW", policy, key).Int64Slice()
	if err != nil || len(words) != 6 {
		return stood{}, errInSight
	}
	return stood{words[0] == 0, words[2]}, nil
}
