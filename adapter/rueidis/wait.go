package rueidisadapter

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/headgate/headgate/redisstore"
)

var _ redisstore.WaitConn = (*conn)(nil)

// maxWaits is the maximum number of connections on which one call waits at the same time, on a Cluster.
const maxWaits = 16

// DoAndWait sends the commands, followed by a WAIT. See [redisstore.WaitConn]. On a Cluster, the commands for each slot
// get their own connection to the slot's primary. If a node redirects a command, the command is sent again, as in Do,
// and the state of its replicas is unknown.
func (c *conn) DoAndWait(ctx context.Context, commands []redisstore.Command, replies []redisstore.Reply, replicas int, within time.Duration) []redisstore.Reply {
	// Without a deadline of its own, the call would let a hanging server block a connection and the caller forever.
	ctx, cancel := context.WithTimeout(ctx, connTimeout+within)
	defer cancel()
	acks := make([]redisstore.Reply, len(commands))
	w := waiting{c, commands, replies, acks, strconv.Itoa(replicas), within}
	if !c.cluster {
		all := make([]int, len(commands))
		for i := range all {
			all[i] = i
		}
		w.on(ctx, c.client.DoMulti, all)
		return acks
	}
	var works sync.WaitGroup
	free := make(chan struct{}, maxWaits)
	for _, at := range w.bySlot() {
		free <- struct{}{}
		works.Go(func() {
			defer func() { <-free }()
			dedicated, release := c.client.Dedicate()
			defer release()
			w.on(ctx, dedicated.DoMulti, at)
			for _, i := range at {
				redisstore.Redirect(ctx, c, commands[i:i+1], replies[i:i+1], acks[i:i+1])
			}
		})
	}
	works.Wait()
	return acks
}

// waiting is one call to DoAndWait.
type waiting struct {
	conn          *conn
	commands      []redisstore.Command
	replies, acks []redisstore.Reply
	replicas      string
	within        time.Duration
}

// on sends the commands with the given indexes, followed by one WAIT, on one connection.
func (w *waiting) on(ctx context.Context, send func(context.Context, ...rueidis.Completed) []rueidis.RedisResult, at []int) {
	built := make([]rueidis.Completed, 0, len(at)+1)
	for _, i := range at {
		built = append(built, w.conn.complete(&w.commands[i]))
	}
	// rueidis sends a blocking command, and the other commands in its call, on a connection of their own.
	millis := strconv.FormatInt(w.within.Milliseconds(), 10)
	built = append(built, w.conn.client.B().Arbitrary("WAIT").Args(w.replicas, millis).Blocking())
	var results []rueidis.RedisResult
	redisstore.RunWait(ctx, w.within, func() { results = send(ctx, built...) }, func(ctx context.Context) {
		key := w.commands[at[0]].Key // on a Cluster, the key's slot selects the server
		w.conn.client.Do(ctx, w.conn.client.B().Arbitrary("GET").Keys(key).Build().ToPipe())
	})
	for n, i := range at {
		w.replies[i] = reply(results[n])
		w.acks[i] = reply(results[len(at)])
	}
}

// bySlot returns the indexes of the commands for each slot.
func (w *waiting) bySlot() (slots [][]int) {
	index := map[uint16]int{}
	for i := range w.commands {
		command := w.conn.complete(&w.commands[i])
		n, ok := index[command.Slot()]
		if !ok {
			n = len(slots)
			index[command.Slot()] = n
			slots = append(slots, nil)
		}
		slots[n] = append(slots[n], i)
	}
	return slots
}
