package topkeys_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/topkeys"
)

var (
	start = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	api   = &policy.Policy{Name: "api"}
	other = &policy.Policy{Name: "other"}
)

// call returns one service call with answers. A key that begins with "!" is denied.
func call(at time.Time, p *policy.Policy, keys ...string) *service.Observed {
	o := &service.Observed{Ended: at}
	for _, key := range keys {
		o.Requests = append(o.Requests, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: p.Name, Key: key}})
		allowed := !strings.HasPrefix(key, "!")
		o.Responses = append(o.Responses, decide.Response{Requested: p, Answer: engine.Answer{Allowed: allowed}})
	}
	return o
}

// changed returns a shadow's decision on the first request of a call. live is the actual answer. The shadow would have
// given the opposite answer.
func changed(live bool) decide.Shadow {
	return decide.Shadow{Owner: api, Of: api, Kind: engine.OpAllow, Compared: true, Live: live, InForce: !live, Last: true}
}

// TestRequestsWithoutKey checks that requests that lack their key are not counted as a key of their own.
func TestRequestsWithoutKey(t *testing.T) {
	tracker := topkeys.New()
	call := call(start, api, "", "!k")
	call.Responses[0].Allowed = false
	tracker.Observe(call)
	for _, of := range []topkeys.Events{topkeys.Requests, topkeys.Denials} {
		if top := tracker.Top(topkeys.Query{Of: of, Most: 10}, start).Top; len(top) != 1 || top[0].Key != "!k" {
			t.Errorf("%v: %+v", of, top)
		}
	}
}

// TestKeysOfChangedAnswers checks that the keys that a shadow would newly deny and the keys that it would newly allow
// are counted separately.
func TestKeysOfChangedAnswers(t *testing.T) {
	tracker := topkeys.New()
	for _, c := range []struct {
		key     string
		shadows []decide.Shadow
	}{
		{"denied", []decide.Shadow{changed(true)}},
		{"denied", []decide.Shadow{changed(true)}},
		{"allowed", []decide.Shadow{changed(false)}},
		{"same", []decide.Shadow{{Owner: api, Of: api, Kind: engine.OpAllow, Compared: true, Live: true, InForce: true, Last: true}}},
		{"unknown", []decide.Shadow{{Owner: api, Of: api, Kind: engine.OpAllow, Last: true}}},
		{"none", nil},
	} {
		o := call(start, other, c.key)
		o.Shadows = c.shadows
		tracker.Observe(o)
	}
	for events, want := range map[topkeys.Events]string{topkeys.NewlyDenied: "api/denied=2[2,2]", topkeys.NewlyAllowed: "api/allowed=1[1,1]"} {
		if got := counts(tracker.Top(topkeys.Query{Of: events, Most: 10}, start)); got != want {
			t.Errorf("%d: %s, want %s", events, got, want)
		}
	}
}

func counts(r topkeys.Report) string {
	var all []string
	for _, c := range r.Top {
		all = append(all, fmt.Sprintf("%s/%s=%d[%d,%d]", c.Policy, c.Key, c.Count, c.Least, c.Most))
	}
	return strings.Join(all, " ")
}

func TestRequestsAndDenialsByPolicyAndWindow(t *testing.T) {
	tracker := topkeys.New()
	tracker.Observe(call(start, api, "a", "a", "!b"))
	tracker.Observe(call(start.Add(30*time.Second), other, "a"))
	for _, c := range []struct {
		q    topkeys.Query
		at   time.Duration
		want string
	}{
		{topkeys.Query{Most: 10}, 31 * time.Second, "api/a=2[2,2] api/!b=1[1,1] other/a=1[1,1]"},
		{topkeys.Query{Most: 1}, 31 * time.Second, "api/a=2[2,2]"},
		{topkeys.Query{Most: 10, Policy: "other"}, 31 * time.Second, "other/a=1[1,1]"},
		{topkeys.Query{Most: 10, Of: topkeys.Denials}, 31 * time.Second, "api/!b=1[1,1]"},
		{topkeys.Query{Most: 10, Now: true}, 31 * time.Second, "other/a=1[1,1]"},
		{topkeys.Query{Most: 10, Now: true}, 49 * time.Second, "other/a=1[1,1]"},
		{topkeys.Query{Most: 10, Now: true}, 51 * time.Second, ""},
		{topkeys.Query{Most: 10}, 65 * time.Second, "other/a=1[1,1]"},
		{topkeys.Query{Most: 10}, 2 * time.Minute, ""},
		{topkeys.Query{Most: 10, Hour: true}, 50 * time.Minute, "api/a=2[2,2] api/!b=1[1,1] other/a=1[1,1]"},
		{topkeys.Query{Most: 10, Hour: true}, 2 * time.Hour, ""},
	} {
		if got := counts(tracker.Top(c.q, start.Add(c.at))); got != c.want {
			t.Errorf("%+v after %v:\n got %s\nwant %s", c.q, c.at, got, c.want)
		}
	}
}

// TestCountsOnlyTakes checks that peeks and requests for unknown policies are not counted, and that keys are cloned,
// because the connection reuses its buffer.
func TestCountsOnlyTakes(t *testing.T) {
	tracker := topkeys.New()
	buffer := []byte("key")
	o := call(start, api, "k", "k", "k")
	o.Requests[0].Kind = engine.OpPeek
	o.Requests[1].Policy, o.Responses[1].Requested = "unknown", nil
	o.Requests[2].Key = string(buffer)
	tracker.Observe(o)
	tracker.Observe(&service.Observed{
		Ended: start, Requests: []decide.Request{{Kind: engine.OpAllow, Items: make([]decide.Item, 2)}, {Kind: engine.OpGive, Item: decide.Item{Key: "e"}}},
		Responses: []decide.Response{{Requested: api, Key: "bound"}, {}},
	})
	if got := counts(tracker.Top(topkeys.Query{Most: 10}, start)); got != "api/bound=1[1,1] api/key=1[1,1]" {
		t.Error(got)
	}
}

// TestCountsEachCharge checks that a request with several keys counts once for each key, and that its denial counts
// only for the keys that caused it.
func TestCountsEachCharge(t *testing.T) {
	tracker := topkeys.New()
	charge := func(name, key string, cost int64) policy.Charge {
		return policy.Charge{Source: &policy.Source{Policy: name}, Charge: engine.Charge{Key: key, Items: 1, Cost: cost}}
	}
	o := call(start, other, "whole", "", "!")
	for i, retry := range []time.Duration{0, time.Second} {
		o.Requests[i+1] = decide.Request{Kind: engine.OpAllow, Items: make([]decide.Item, 2)}
		r := &o.Responses[i+1]
		r.Listed = true
		r.Resize(3)
		r.SetCharges(charge("api", "address", 1), charge("", "acme", 7), charge("", "acme", 7))
		r.Of(2).RetryAfter = retry
	}
	tracker.Observe(o)
	if got, want := counts(tracker.Top(topkeys.Query{Most: 10}, start)), "(inline)/acme=2[2,2] api/address=2[2,2] other/whole=1[1,1]"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got, want := counts(tracker.Top(topkeys.Query{Most: 10, Of: topkeys.Denials}, start)), "(inline)/acme=1[1,1]"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	events := tracker.Timeline(service.InlinePolicy, "acme")
	if len(events) != 2 || events[0].Allowed || !events[1].Allowed || events[0].Cost != 7 || events[0].RetryAfter != time.Second {
		t.Errorf("%+v", events)
	}
}

// TestLongKeysAreCountedApart checks that keys that share their first 512 bytes are counted separately. A key that is
// too long for any limit is not counted.
func TestLongKeysAreCountedApart(t *testing.T) {
	tracker := topkeys.New()
	long := strings.Repeat("k", engine.MaxKeyBytes-1)
	tracker.Observe(call(start, api, long+"a", long+"b", long+"a", long+"ab"))
	if got, want := counts(tracker.Top(topkeys.Query{Most: 10}, start)), "api/"+long+"a=2[2,2] api/"+long+"b=1[1,1]"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for key, want := range map[string]int{long + "a": 2, long + "b": 1, long + "ab": 0, long: 0} {
		if got := tracker.Timeline("api", key); len(got) != want {
			t.Errorf("timeline of …%s: %d decisions, want %d", key[len(long):], len(got), want)
		}
	}
	report := tracker.Top(topkeys.Query{Most: 10}, start)
	shown := report.JSON(topkeys.Requests).Keys
	if shown[0].Key != long+"a" || shown[0].KeyHash == "" || shown[0].KeyHash == shown[1].KeyHash {
		t.Errorf("shown: %+v", shown)
	}
}

// exact counts the same events in a map.
type exact map[string]int64

func (e exact) top(n int) []string {
	return slices.SortedFunc(maps.Keys(e), func(a, b string) int { return cmp.Or(cmp.Compare(e[b], e[a]), cmp.Compare(a, b)) })[:n]
}

// check compares a report with the exact counts.
func (e exact) check(t *testing.T, r topkeys.Report, first int) {
	t.Helper()
	found := map[string]bool{}
	for _, c := range r.Top {
		found[c.Key] = true
		if n := e[c.Key]; n < c.Least || n > c.Most {
			t.Errorf("%s was counted %d times, reported as %d to %d", c.Key, n, c.Least, c.Most)
		}
	}
	for _, key := range e.top(first) {
		if !found[key] {
			t.Errorf("%s is not reported, with %d events", key, e[key])
		}
	}
}

// TestMillionKeysInAMinute sends a million requests, for about as many different keys and for a few noisy ones. It
// checks the counts of the noisy keys.
func TestMillionKeysInAMinute(t *testing.T) {
	before := heap()
	tracker, want := topkeys.New(), exact{}
	requests := raced.Size(1_000_000, 100_000)
	o := call(start, api, "")
	for i := range requests {
		key := strconv.FormatUint(rand.Uint64(), 36)
		if i%20 == 0 {
			key = "noisy-" + strconv.Itoa(rand.IntN(4))
			want[key]++
		}
		o.Requests[0].Key, o.Ended = key, start.Add(time.Duration(i)*55*time.Second/time.Duration(requests))
		tracker.Observe(o)
	}
	report := tracker.Top(topkeys.Query{Most: 4}, start.Add(55*time.Second))
	want.check(t, report, 4)
	t.Logf("%s; %d KiB", counts(report), (heap()-before)>>10)
	runtime.KeepAlive(tracker)
}

// TestEachIsCounted checks that at 4000 requests per second every request is counted, and that the bounds hold even
// with many more keys than counters.
func TestEachIsCounted(t *testing.T) {
	tracker, want := topkeys.New(), exact{}
	zipf := rand.NewZipf(rand.New(rand.NewPCG(3, 4)), 1.1, 1, 1_000_000)
	for i := range 100_000 {
		key := fmt.Sprintf("k%d", zipf.Uint64())
		want[key]++
		tracker.Observe(call(start.Add(time.Duration(i)*250*time.Microsecond), api, key))
	}
	report := tracker.Top(topkeys.Query{Most: 1000}, start.Add(50*time.Second))
	if report.Sampled {
		t.Error("4000 requests a second are sampled")
	}
	want.check(t, report, 20)
	t.Logf("%d keys; %s", len(want), counts(report)[:120])
}

// TestMemory checks that the tracker takes at most 24 MiB with long keys, all different, in all windows.
func TestMemory(t *testing.T) {
	before := heap()
	tracker := topkeys.New()
	long := strings.Repeat("k", engine.MaxKeyBytes-20)
	at := start
	for _, span := range []time.Duration{10 * time.Minute, 10 * time.Second} { // first the hour's windows, then the minute's
		for i := range 6 * 2000 {
			at = at.Add(span / 2000)
			o := call(at, api, fmt.Sprintf("!%d%s%s", i, span, long))
			o.Shadows = []decide.Shadow{changed(false), changed(true)}
			tracker.Observe(o)
		}
	}
	used := heap() - before
	if used > 24<<20 || used < 12<<20 {
		t.Errorf("%d KiB, want at most 24 MiB, and more than 12 MiB: the test fills the sketches", used>>10)
	}
	t.Logf("%d KiB", used>>10)
	runtime.KeepAlive(tracker)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSampled checks that at 640 000 requests per second a sample is counted, and that the bounds still hold.
func TestSampled(t *testing.T) {
	tracker, want := topkeys.New(), exact{}
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.2, 1, 100_000)
	keys := make([]string, 64)
	for i := range raced.Size(10_000, 5000) {
		for j := range keys {
			keys[j] = "!k" + strconv.FormatUint(zipf.Uint64(), 10)
			want[keys[j]]++
		}
		tracker.Observe(call(start.Add(time.Duration(i)*100*time.Microsecond), api, keys...))
	}
	for _, events := range []topkeys.Events{topkeys.Requests, topkeys.Denials} {
		report := tracker.Top(topkeys.Query{Most: 20, Of: events}, start.Add(time.Second))
		if !report.Sampled {
			t.Error("640 000 requests a second are not sampled")
		}
		want.check(t, report, 10)
		t.Logf("%s; exact %d", counts(report)[:100], want[want.top(1)[0]])
	}
}

func BenchmarkObserve(b *testing.B) {
	keys := make([]string, 64)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%d", i)
	}
	o := call(start, api, keys...)
	tracker := topkeys.New()
	for b.Loop() {
		o.Ended = time.Now()
		tracker.Observe(o)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/request")
}
