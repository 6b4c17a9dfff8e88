package chaos

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// watchExpiry checks that the states of fixed windows do not expire before their windows end, because the windows'
// units could then be spent again. Windows aligned to the clock store their end, so the check is exact to the
// millisecond, which is the resolution of TTLs in Redis. It also records when Redis hangs.
func (w *world) watchExpiry() {
	client := redis.NewClient(&redis.Options{Addr: w.server.Addr(), MaxRetries: -1, PoolSize: 1, DisableIdentity: true, DialTimeout: time.Second, ReadTimeout: time.Second})
	defer func() { _ = client.Close() }()
	for !w.callers.stop.Load() {
		time.Sleep(20 * time.Millisecond)
		for _, policy := range []string{"fixed-deny", "fixed-local", "fixed-leased"} {
			pipe := client.TxPipeline()
			state, expires := w.stateOf(pipe, policy)
			sent := w.callers.now()
			_, err := pipe.Exec(context.Background())
			if answered := w.callers.now(); answered-sent > longestStall {
				w.happened.hangs = append(w.happened.hangs, span{sent, answered})
			}
			if err != nil {
				continue // there is no such state, or no server at the moment
			}
			text, _ := state.Bytes()
			if len(text) != 15 {
				continue
			}
			ends := time.UnixMicro(int64(binary.BigEndian.Uint64(text[7:]))) //nolint:gosec // a time of this century
			// PExpireTime returns a Unix time as a duration.
			if at := time.UnixMilli(expires.Val().Milliseconds()); at.Before(ends) {
				w.early = append(w.early, violation{"expired", fmt.Sprintf("%s: the state expires %s before its window ends", policy, ends.Sub(at))})
				return
			}
		}
	}
}

// stateOf returns the state of the first key's window, and its expiry.
func (w *world) stateOf(pipe redis.Pipeliner, policy string) (*redis.StringCmd, *redis.DurationCmd) {
	ctx, key := context.Background(), windowKey(policy)
	return pipe.Get(ctx, key), pipe.PExpireTime(ctx, key)
}
