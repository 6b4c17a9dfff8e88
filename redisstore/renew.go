package redisstore

import (
	"context"
	"time"
)

// renewInterval is the shortest time between two renewals of the connections, and the longest time that one takes.
const renewInterval = time.Second

// renewConnections dials the server's address again in the background. If the server has answered as a replica, the
// address may lead to another server by now, while the connections still lead to the old primary. If it has not accepted
// the password, there may be a new one. If it refuses for an unknown reason, it may be another server than the store's.
// It does nothing if the last renewal is too recent.
func (s *Store) renewConnections() {
	now, last := time.Now().UnixNano(), s.renewed.Load()
	if now-last < int64(renewInterval) || !s.renewed.CompareAndSwap(last, now) {
		return
	}
	s.goBackground(func() {
		ctx, cancel := context.WithTimeout(s.lifetime, renewInterval)
		defer cancel()
		s.conn.Renew(ctx)
	})
}
