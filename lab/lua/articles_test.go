package lua

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// These scripts are short forms of scripts from popular articles. Each runs on a real server, alongside Headgate, in a
// case where the script is wrong. TestArticles has the table of cases.
const (
	// scriptLog keeps a sorted set of request times.
	scriptLog = `local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZADD', KEYS[1], now, now)
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
redis.call('PEXPIRE', KEYS[1], window)
return redis.call('ZCARD', KEYS[1]) <= limit and 1 or 0`
	// scriptGateway is a gateway's token bucket. The client sends the time in whole seconds.
	scriptGateway = `local rate, capacity, now, requested = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local ttl = math.floor(capacity / rate * 2)
local last = tonumber(redis.call('get', KEYS[1])) or capacity
local at = tonumber(redis.call('get', KEYS[2])) or 0
local filled = math.min(capacity, last + math.max(0, now - at) * rate)
local allowed = filled >= requested
if allowed then filled = filled - requested end
redis.call('setex', KEYS[1], ttl, filled)
redis.call('setex', KEYS[2], ttl, now)
return allowed and 1 or 0`
	// scriptSeconds is a token bucket that loses fractions.
	scriptSeconds = `local rate, capacity, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local tokens = tonumber(redis.call('hget', KEYS[1], 'tokens')) or capacity
local at = tonumber(redis.call('hget', KEYS[1], 'at')) or now
tokens = math.min(capacity, tokens + math.floor(now - at) * rate)
local got = tokens
redis.call('hset', KEYS[1], 'tokens', 0, 'at', now)
return got`
	// scriptSmall keeps small windows in a hash.
	scriptSmall = `local now, small, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local current, count = math.floor(now / small) * small, 0
for _, start in ipairs(redis.call('HKEYS', KEYS[1])) do
  if tonumber(start) <= current - window then redis.call('HDEL', KEYS[1], start)
  else count = count + tonumber(redis.call('HGET', KEYS[1], start)) end
end
if count >= limit then return 0 end
redis.call('HINCRBY', KEYS[1], string.format('%.0f', current), 1)
redis.call('PEXPIRE', KEYS[1], window)
return 1`
)

// beside is a server on which a script and a Headgate store run, with a clock for both.
type beside struct {
	t     *testing.T
	s     *redistest.Server
	store *redisstore.Store
	clock *headgatetest.Clock
	zero  time.Time
}

func newBeside(t *testing.T) *beside {
	t.Helper()
	s, clock := redistest.Standalone(t, redistest.Redis), headgatetest.NewClock()
	return &beside{t: t, s: s, clock: clock, zero: clock.Now(), store: testbed.OpenRueidis(t, testbed.At(s.Addr(), ""), redisstore.Config{Clock: clock.Now})}
}

func (b *beside) now() int64 { return b.clock.Now().Sub(b.zero).Milliseconds() }

func (b *beside) ours(kind engine.Kind, limit engine.Limit, cost int64) *engine.Answer {
	b.t.Helper()
	return opOn(b.t, b.store, kind, limit, cost)
}

// compare checks that the script admits the wrong number of units stated in the table, and that Headgate admits the
// right one.
func (b *beside) compare(what string, article, wrong, ours, right int64) {
	b.t.Helper()
	if article != wrong || ours != right {
		b.t.Errorf("%s: the script lets %d pass, the table says %d; ours %d, want %d", what, article, wrong, ours, right)
	}
}

// TestArticles runs each row with the article's script and with Headgate. The numbers are the requests that pass.
//
//	script: error: case: theirs, ours
//	sliding log: a sorted set whose members are times: requests of one instant are one member: 1000 requests
//	  at one instant, 5 a minute: 1000, 5
//	the same: denials count, so a caller that keeps calling stays denied: four calls a second for ten
//	  seconds, 2 a second: 2, 20
//	a gateway's token bucket: the TTL is twice the time to fill in whole seconds: 0 here, an error after the
//	  decision: 100 a second, capacity 10: an error on every call, passes, 9 left
//	the same: whole seconds: 10 at 0.999 s and 10 at 1.000 s, 10 a second: 20, 10
//	the same: the client sends the time: two clients, one 61 s ahead, 10 a minute: 20, 10
//	the same: it stores the remaining tokens, not the spent tokens: capacity lowered from 100 to 10 when 90
//	  are spent: 10, 0
//	token bucket, leaky bucket: floor(now − last) · rate: the fraction of a second is lost on each call: 1 a
//	  second, all taken at 1.9, 3.8 and 5.7 s: 3, 5
//	small windows in a hash or list: the oldest window is forgotten at once: 10 at 0.499 s and 10 at 1.000 s,
//	  10 a second: 20, 10 (strict); 20 (lenient, the same as that script)
//	counter: INCR, then EXPIRE if it is 1: the process dies between the two: a key without a TTL: denied
//	  forever, a TTL in the same step
func TestArticles(t *testing.T) {
	for name, run := range map[string]func(b *beside){
		"log, one instant": articleLog, "log, denials": articleDenials, "gateway, fractions": articleTTL,
		"gateway, whole seconds": articleSeconds, "gateway, a client ahead": articleSkew, "tokens, fraction": articleFraction,
		"small windows": articleSmall, "counter, crash": articleCrash, "limit changed": articleChanged,
	} {
		t.Run(name, func(t *testing.T) { run(newBeside(t)) })
	}
}

func articleLog(b *beside) {
	limit, article, ours := rule.SlidingLog(rule.PerMinute(5)), int64(0), int64(0)
	for range 1000 {
		article += b.s.MustDo("eval", scriptLog, 1, "log", b.now(), 60_000, 5).(int64)
		if b.ours(engine.OpAllow, limit, 1).Allowed {
			ours++
		}
	}
	b.compare("a thousand requests in one instant, 5 a minute", article, 1000, ours, 5)
}

func articleDenials(b *beside) {
	limit, article, ours := rule.SlidingLog(rule.PerSecond(2)), int64(0), int64(0)
	for range 40 { // four calls per second for ten seconds
		article += b.s.MustDo("eval", scriptLog, 1, "log", b.now(), 1_000, 2).(int64)
		if b.ours(engine.OpAllow, limit, 1).Allowed {
			ours++
		}
		b.clock.Advance(250 * time.Millisecond)
	}
	b.compare("four calls a second for ten seconds, 2 a second", article, 2, ours, 20)
}

func articleTTL(b *beside) {
	if _, err := b.s.Do("eval", scriptGateway, 2, "tokens", "at", 100, 10, 0, 1); err == nil || !strings.Contains(err.Error(), "invalid expire time") {
		b.t.Errorf("100 a second with a capacity of 10: %v", err)
	}
	if d := b.ours(engine.OpAllow, rule.TokenBucket(rule.PerSecond(100), rule.Burst(10)), 1); !d.Allowed || d.Binds().Remaining != 9 {
		b.t.Errorf("ours: %+v", d)
	}
}

func articleSeconds(b *beside) {
	limit, article, ours := rule.TokenBucket(rule.PerSecond(10)), int64(0), int64(0)
	b.clock.Advance(999 * time.Millisecond)
	for range 2 {
		for range 10 {
			article += b.s.MustDo("eval", scriptGateway, 2, "tokens", "at", 10, 10, b.now()/1000, 1).(int64)
			if b.ours(engine.OpAllow, limit, 1).Allowed {
				ours++
			}
		}
		b.clock.Advance(time.Millisecond)
	}
	b.compare("10 at 0.999 s and 10 at 1.000 s, 10 a second", article, 20, ours, 10)
}

func articleSkew(b *beside) {
	limit, article, ours := rule.TokenBucket(rule.PerMinute(10)), int64(0), int64(0)
	for _, ahead := range []int64{0, 61} { // the second client's clock is 61 s fast
		for range 10 {
			article += b.s.MustDo("eval", scriptGateway, 2, "tokens", "at", "0.16666666666666666", 10, b.now()/1000+ahead, 1).(int64)
			if b.ours(engine.OpAllow, limit, 1).Allowed {
				ours++
			}
		}
	}
	b.compare("two clients, one 61 s ahead, 10 a minute", article, 20, ours, 10)
}

func articleFraction(b *beside) {
	limit, article, ours := rule.TokenBucket(rule.PerSecond(1), rule.Burst(3)), int64(0), int64(0)
	seconds := func() string { return fmt.Sprintf("%.1f", float64(b.now())/1000) }
	b.s.MustDo("eval", scriptSeconds, 1, "bucket", 1, 3, seconds())
	b.ours(engine.OpAllow, limit, 3)
	for range 3 { // at 1.9, 3.8 and 5.7 s
		b.clock.Advance(1900 * time.Millisecond)
		article += b.s.MustDo("eval", scriptSeconds, 1, "bucket", 1, 3, seconds()).(int64)
		ours += b.ours(engine.OpAtMost, limit, 3).Granted
	}
	b.compare("1 a second, taken at 1.9, 3.8 and 5.7 s", article, 3, ours, 5)
}

func articleSmall(b *beside) {
	strict, article, ours := rule.SlidingWindow(rule.PerSecond(10), rule.Segments(2), rule.Strict()), int64(0), int64(0)
	b.clock.Advance(499 * time.Millisecond)
	for range 2 { // 10 at 0.499 s and 10 at 1.000 s, which are 501 ms apart
		for range 10 {
			article += b.s.MustDo("eval", scriptSmall, 1, "small", b.now(), 500, 1000, 10).(int64)
			if b.ours(engine.OpAllow, strict, 1).Allowed {
				ours++
			}
		}
		b.clock.Advance(501 * time.Millisecond)
	}
	b.compare("20 in half a second over small windows, 10 a second", article, 20, ours, 10)
}

// articleCrash is the case where the process dies after an INCR that returned 1, before it sends EXPIRE.
func articleCrash(b *beside) {
	b.s.MustDo("incr", "counter")
	if ttl := b.s.MustDo("pttl", "counter"); ttl != int64(-1) {
		b.t.Errorf("PTTL %v", ttl)
	}
	limit := rule.FixedWindow(rule.PerMinute(5))
	b.ours(engine.OpAllow, limit, 1)
	op := engine.Op{Space: "rates", Key: rateKey(limit), Charges: []engine.Charge{{Limit: limit}}}
	if ttl := b.s.MustDo("pttl", b.store.Keys(&op)[0]).(int64); ttl < 0 {
		b.t.Errorf("ours: PTTL %d", ttl)
	}
}

// articleChanged is the case where a limit is lowered after most of its units were spent.
func articleChanged(b *beside) {
	article, ours := int64(0), int64(0)
	b.s.MustDo("eval", scriptGateway, 2, "tokens", "at", 1, 100, 0, 90)
	b.ours(engine.OpAllow, rule.TokenBucket(rule.PerSecond(1), rule.Burst(100), rule.Named("changed")), 90)
	lowered := rule.TokenBucket(rule.PerSecond(1), rule.Burst(10), rule.Named("changed"))
	for range 20 {
		article += b.s.MustDo("eval", scriptGateway, 2, "tokens", "at", 1, 10, 0, 1).(int64)
		if b.ours(engine.OpAllow, lowered, 1).Allowed {
			ours++
		}
	}
	b.compare("a capacity lowered from 100 to 10 when 90 are spent", article, 10, ours, 0)
}

// TestDocumentedState checks that the stored bytes are the bytes shown in docs/design/keys.md.
func TestDocumentedState(t *testing.T) {
	b := newBeside(t)
	limit := rule.TokenBucket(rule.PerSecond(10))
	op := engine.Single(engine.OpAllow, "k", limit, 1)
	op.Space = "s"
	b.store.Do(context.Background(), []engine.Op{op}, make([]engine.Answer, 1))
	doc, err := os.ReadFile("../../docs/design/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	stored := hex.EncodeToString([]byte(b.s.Text("get", b.store.Keys(&op)[0])))
	if !strings.Contains(strings.ReplaceAll(string(doc), " ", ""), "`"+stored+"`") {
		t.Errorf("docs/design/keys.md does not show %s", stored)
	}
}
