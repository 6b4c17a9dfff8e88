package servers

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/conform/redistest"
)

// builds are two servers from different builds that share one Redis.
type builds struct {
	*testing.T

	old, current *redis.Client
}

// ask sends a command, given without the prefix HEADGATE. and as words separated by blanks, and returns the elements of
// the reply.
func (b builds) ask(to *redis.Client, words string) []any {
	b.Helper()
	var args []any
	for word := range strings.FieldsSeq("HEADGATE." + words) {
		args = append(args, word)
	}
	reply, err := to.Do(context.Background(), args...).Result()
	if err != nil {
		b.Fatalf("%.60s: %v", words, err)
	}
	if n, ok := reply.(int64); ok {
		return []any{n}
	}
	return reply.([]any)
}

// first sends a command to a server, and checks the first integers in the reply.
func (b builds) first(to *redis.Client, words string, want ...int64) []any {
	b.Helper()
	reply := b.ask(to, words)
	for i, w := range want {
		if reply[i] != w {
			b.Errorf("%.60s: %v, want %d first", words, reply, want)
			break
		}
	}
	return reply
}

// Two builds settle each other's reservations and count each other's permits. The earlier build reads and preserves
// the charges, the permits and the excess from this build's lists.
func TestHoldsOfTwoBuilds(t *testing.T) {
	t.Parallel()
	earlier, build := buildsOf(t)
	for _, layout := range []string{"", "?layout=hash:4"} {
		t.Run("layout"+layout, func(t *testing.T) {
			s := redistest.Standalone(t, redistest.Redis)
			start := func(headgate string) *redis.Client {
				client, stop := serveBuild(t, headgate, "redis://"+s.Addr()+layout, "--config", upgradeFile(t, 100))
				t.Cleanup(stop)
				return client
			}
			b := builds{t, start(earlier), start(build)}
			b.reservations()
			b.permits()
			b.beyond()
		})
	}
}

func (b builds) reservations() {
	b.Helper()
	ofOld := b.first(b.old, "RESERVE fixed k 10", 0, 100, 90)[6].(string)
	ofCurrent := b.first(b.current, "RESERVE fixed k 10", 0, 100, 80)[6].(string)
	b.first(b.current, "COMMIT "+ofOld+" 4", 1)
	b.first(b.old, "COMMIT "+ofCurrent+" 3", 1)
	b.first(b.old, "COMMIT "+ofOld+" 0", 0)
	b.first(b.current, "COMMIT "+ofCurrent+" 0", 0)
	b.first(b.old, "PEEK fixed k", 0, 100, 93)
}

func (b builds) permits() {
	b.Helper()
	b.first(b.old, "ACQUIRE permits k 49", 0, 100, 51)
	list := b.first(b.current, "RESERVEALL fixed k 5 permits k 50", 0)[7].(string)
	one := b.first(b.old, "ACQUIRE permits k 1 one", 0, 100, 0)
	b.first(b.old, "ACQUIRE permits k 1", 1)
	b.first(b.current, "RESERVEALL fixed k 5 permits k 1", 1)
	b.first(b.current, "RENEWALL "+list, 1)
	b.first(b.old, "RENEW permits k "+one[6].(string), 1)
	b.first(b.current, "COMMIT "+list+" 20 0", 1)
	b.first(b.old, "PEEK fixed k", 0, 100, 73)
	b.first(b.old, "ACQUIRE permits k 51", 1)
	b.first(b.old, "ACQUIRE permits k 50", 0, 100, 0)
}

// beyond makes lists in this build use more units of every limit than the limit allows.
func (b builds) beyond() {
	b.Helper()
	for _, name := range slices.Sorted(maps.Keys(upgraded)) {
		if name == "permits" {
			continue
		}
		list := b.first(b.current, "RESERVEALL "+name+" one 10 "+name+" two 20", 0)[7].(string)
		b.first(b.old, "TAKE "+name+" one 5", 0, 100, 85)
		b.first(b.current, "COMMIT "+list+" 170 20", 1)
		b.first(b.old, "TAKE "+name+" one 1", 1, 100, 0)
		b.first(b.old, "TAKE "+name+" two 80", 0, 100, 0)
		b.first(b.current, "TAKE "+name+" one 1", 1, 100, 0)
	}
}
