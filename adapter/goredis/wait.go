package goredisadapter

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/redisstore"
)

var _ redisstore.WaitConn = (*conn)(nil)

// DoAndWait sends the commands, followed by a WAIT. See [redisstore.WaitConn]. A pipeline uses its own connection until
// all its replies have arrived. On a Cluster, each primary gets its own pipeline. If a node redirects a command, the
// command is sent again, as in Do, and the state of its replicas is unknown. A wait ends before the client's
// ReadTimeout.
func (c *conn) DoAndWait(ctx context.Context, commands []redisstore.Command, replies []redisstore.Reply, replicas int, within time.Duration) []redisstore.Reply {
	acks := make([]redisstore.Reply, len(commands))
	w := waiting{commands, replies, acks, replicas, within}
	nodes, ok := c.client.(*redis.ClusterClient)
	if !ok {
		all := make([]int, len(commands))
		for i := range all {
			all[i] = i
		}
		if one, ok := c.client.(*redis.Client); ok {
			w.on(ctx, one, all)
		}
		return acks
	}
	var works sync.WaitGroup
	for node, at := range w.byNode(ctx, nodes) {
		works.Go(func() { w.on(ctx, node, at) })
	}
	works.Wait()
	redisstore.Redirect(ctx, c, commands, replies, acks)
	return acks
}

// waiting is one call to DoAndWait.
type waiting struct {
	commands      []redisstore.Command
	replies, acks []redisstore.Reply
	replicas      int
	within        time.Duration
}

// on sends the commands with the given indexes, followed by the WAIT, to one server.
func (w *waiting) on(ctx context.Context, client *redis.Client, at []int) {
	within := w.within
	if read := client.Options().ReadTimeout; read > 0 {
		within = min(within, read*9/10)
	}
	pipe := client.Pipeline()
	sent := make([]command, 0, len(at)+1)
	for _, i := range at {
		sent = append(sent, build(ctx, &w.commands[i]))
	}
	sent = append(sent, command{redis.NewCmd(ctx, "WAIT", w.replicas, max(1, within.Milliseconds()))})
	for _, s := range sent {
		_ = pipe.Process(ctx, s)
	}
	redisstore.RunWait(ctx, within, func() {
		_, _ = pipe.Exec(ctx) // each command has its own error
	}, func(ctx context.Context) { client.Ping(ctx) })
	for n, i := range at {
		w.replies[i] = reply(sent[n].Cmd)
		w.acks[i] = reply(sent[len(at)].Cmd)
	}
}

// byNode returns the indexes of the commands for each primary. If a command's primary is unknown, byNode sets the
// command's reply to the error.
func (w *waiting) byNode(ctx context.Context, nodes *redis.ClusterClient) map[*redis.Client][]int {
	by := map[*redis.Client][]int{}
	for i := range w.commands {
		node, err := nodes.MasterForKey(ctx, w.commands[i].Key)
		if err != nil {
			w.replies[i] = redisstore.Reply{Err: errors.Join(redisstore.ErrNotSent, translate(err))}
			continue
		}
		by[node] = append(by[node], i)
	}
	return by
}
