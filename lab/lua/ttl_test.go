package lua

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// pad is how much longer a key lives than its state: see lua/prelude.lua.
const pad = 100 * time.Millisecond

// least is the shortest life of a key: see SHORT in lua/common.lua.
const least = 2 * 2097152 * time.Microsecond

// TestKeysLiveLongEnough checks that the TTL of a key whose state soon ends is the least one, plus the pad, whether the
// key is alone in a call or with others. MONITOR shows the TTLs that are set.
func TestKeysLiveLongEnough(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	heard := monitor(t, s)
	rate := rule.Per(1, 1500*time.Microsecond)
	for _, limit := range []engine.Limit{rule.TokenBucket(rate), rule.FixedWindow(rate)} {
		for _, kind := range []engine.Kind{engine.OpAllow, engine.OpAtMost} { // merged, and one by one
			for keys := 1; keys <= 2; keys++ {
				var ops []engine.Op
				for i := range keys {
					ops = append(ops, engine.Single(kind, fmt.Sprintf("%d-of-%d-%s", i, keys, kind), limit, 1))
				}
				results := make([]engine.Answer, keys)
				store.Do(context.Background(), ops, results)
				for i := range results {
					if results[i].Err != nil || !results[i].Allowed {
						t.Fatalf("%s %s, key %d of %d: %+v", limit, kind, i, keys, results[i])
					}
					if set := heard(` lua] `, `"4295"`); !strings.Contains(set, `"PX" "4295" "NX"`) && !strings.Contains(set, `"PSETEX"`) {
						t.Errorf("%s %s, key %d of %d of a state that lasts 1.5 ms: %s", limit, kind, i, keys, set)
					}
				}
			}
		}
	}
}

// monitor starts MONITOR on a server. The returned function waits for the next command that contains all given
// strings, and returns the command.
func monitor(t *testing.T, s *redistest.Server) (heard func(with ...string) string) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	lines := bufio.NewReader(conn)
	heard = func(with ...string) string {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(with, func(part string) bool { return !strings.Contains(line, part) }) {
				return strings.TrimSpace(line)
			}
		}
	}
	if _, err := fmt.Fprint(conn, "MONITOR\r\n"); err != nil {
		t.Fatal(err)
	}
	heard("+OK")
	return heard
}

// TestKeysOfACallHaveTheirOwnTTL checks that keys with different lifetimes in one call get different TTLs.
func TestKeysOfACallHaveTheirOwnTTL(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	spans := []time.Duration{time.Minute, time.Hour, time.Second}
	var ops []engine.Op
	for i, span := range spans {
		ops = append(ops, engine.Single(engine.OpAllow, strconv.Itoa(i), rule.FixedWindow(rule.Per(10, span)), 1))
	}
	results := make([]engine.Answer, len(ops))
	store.Do(context.Background(), ops, results)
	for i, span := range spans {
		if results[i].Err != nil {
			t.Fatal(results[i].Err)
		}
		ms, _ := s.MustDo("pttl", store.Keys(&ops[i])[0]).(int64)
		if left := time.Duration(ms) * time.Millisecond; left > max(least, span+span/8)+pad+time.Millisecond || left <= span/2+pad {
			t.Errorf("the key of a window of %v lasts for %v", span, left)
		}
	}
}

// TestReturnsLiveLongEnough checks that the record of the units given back to a bucket lasts until the bucket would be
// fully refilled without them.
func TestReturnsLiveLongEnough(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	do := func(op engine.Op) *engine.Reservation {
		results := make([]engine.Answer, 1)
		if store.Do(context.Background(), []engine.Op{op}, results); results[0].Err != nil || !results[0].Allowed {
			t.Fatalf("%s: %+v", op.Kind, results[0])
		}
		return results[0].Reservation(&op, "id")
	}
	charge := engine.Single(engine.OpReserve, "k", rule.TokenBucket(rule.PerHour(10)), 5)
	first := do(charge)
	do(charge)
	settle := first.Settle(0)
	do(settle)
	keys := store.Keys(&settle)
	for i, key := range keys[1:] {
		most := []int64{30 * 60_000, 60 * 60_000}[i]
		if left, _ := s.MustDo("pttl", key).(int64); left > most+most/8+pad.Milliseconds() || left < most-60_000 {
			t.Errorf("%s expires in %d ms, want %d", key, left, most)
		}
	}
}

// TestKeptTTLsSuffice charges buckets that last for almost the longest time and for longer, and a window. Some of their
// states keep the key's TTL. The key must live as long as the state, through several of the spans that common.lua divides
// time into.
func TestKeptTTLsSuffice(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	store := testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{})
	ops := []engine.Op{
		engine.Single(engine.OpAllow, "k", rule.TokenBucket(rule.Per(10, time.Second), rule.Burst(20)), 1),
		engine.Single(engine.OpAllow, "l", rule.TokenBucket(rule.Per(1, time.Second), rule.Burst(60)), 1),
		engine.Single(engine.OpAllow, "k", rule.FixedWindow(rule.Per(1000, time.Minute)), 1),
	}
	results := make([]engine.Answer, 1)
	calls := func(command string) (n int) {
		stats, _ := s.MustDo("info", "commandstats").(string)
		_, rest, _ := strings.Cut(stats, "cmdstat_"+command+":calls=")
		_, _ = fmt.Sscan(rest[:max(0, strings.IndexByte(rest, ','))], &n)
		return n
	}
	began := time.Now()
	for i := 0; calls("psetex") < 6 || calls("setrange") < 20 || time.Since(began) < 2*least; i++ {
		time.Sleep(5 * time.Millisecond) // the clock is the server's
		op := ops[i%len(ops) : i%len(ops)+1]
		results[0] = engine.Answer{}
		asked := time.Now()
		if store.Do(context.Background(), op, results); results[0].Err != nil {
			t.Fatal(results[0].Err)
		}
		reset := results[0].Binds().ResetAfter
		ms, _ := s.MustDo("pttl", store.Keys(&op[0])[0]).(int64)
		if left := time.Duration(ms)*time.Millisecond + time.Since(asked); left < reset {
			t.Fatalf("call %d: the key lives for %v, and its state for %v", i, left, reset)
		}
	}
}
