package daemon

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/open"
)

// secretName is the name under which the store holds the secret that signs reservations. The secret needs no further
// protection, because a program that can read it can also change the counters directly.
const secretName = "reservations/secret"

// rereadSecret is the age of a secret at which a request reads it again. The background does so each second
// ([Daemon.keepSecret]).
const rereadSecret = time.Minute

// sharedSecret is the secret shared by all servers on one store. The first server that needs it creates it. If the store
// loses it, the first server that notices writes it again, so that earlier reservations can still be settled.
type sharedSecret struct {
	values engine.Coordinator

	mu     sync.Mutex
	secret []byte
	read   time.Time
	failed error     // error of the last attempt, while there is no secret
	tried  time.Time // time of that attempt
}

// retrySecret is the pause between a failure and the next attempt, so that not every call waits while the store is
// unavailable.
const retrySecret = time.Second

// errNoSecret means that the store has lost a value that had just been written.
var errNoSecret = errors.New("the secret of reservations is not kept by the store")

// secretIn returns the store's secret. On Redis all servers share it. A memory store includes it in the snapshot, so that
// reservations can be settled after a restart.
func secretIn(opened open.Opened) *sharedSecret {
	if opened.Redis == nil {
		return &sharedSecret{values: opened.Memory}
	}
	return &sharedSecret{values: opened.Redis}
}

// keepSecret reads the secret in the background until ctx ends. In an outage this server can then settle the reservations
// of other servers, and its requests do not wait for the secret. If the store loses its data, a server that starts soon
// afterwards finds the secret again, instead of making one that the other servers refuse.
func (d *Daemon) keepSecret(ctx context.Context) {
	if d.store.Fallback == nil {
		return
	}
	ticker := time.NewTicker(retrySecret)
	defer ticker.Stop()
	for ctx.Err() == nil {
		within, cancel := context.WithTimeout(ctx, retrySecret)
		_, _ = d.secret.newer(within, retrySecret/2) // an error is that of the next request
		cancel()
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// get returns the secret. While the store does not answer, it returns the last secret that was read. If none was read
// yet, it returns the error of the last attempt.
func (s *sharedSecret) get(ctx context.Context) ([]byte, error) { return s.newer(ctx, rereadSecret) }

// newer is get for a secret that was read less than the given time ago. Only one caller at a time reads a known secret
// again; the others use the last one.
func (s *sharedSecret) newer(ctx context.Context, than time.Duration) ([]byte, error) {
	s.mu.Lock()
	known := s.secret
	switch {
	case known != nil && time.Since(s.read) < than:
		s.mu.Unlock()
		return known, nil
	case known == nil && s.failed != nil && time.Since(s.tried) < retrySecret:
		defer s.mu.Unlock()
		return nil, s.failed
	}
	s.read = time.Now() // also if there is an error, to limit the attempts
	s.mu.Unlock()
	value, err := s.load(ctx, string(known))
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.secret, s.read, s.failed = []byte(value), time.Now(), nil
	case s.secret == nil:
		s.failed, s.tried = err, time.Now()
		return nil, err
	}
	return s.secret, nil
}

// load returns the store's secret. If there is none, it writes the known one, or else a new one.
func (s *sharedSecret) load(ctx context.Context, known string) (string, error) {
	value, version, err := s.values.Get(ctx, secretName)
	if err == nil && version == 0 {
		if _, _, err = s.values.CompareAndSet(ctx, secretName, 0, cmp.Or(known, rand.Text()+rand.Text())); err == nil {
			value, version, err = s.values.Get(ctx, secretName) // another server may have been first
		}
		if err == nil && (version == 0 || value == "") { // the store has just lost it
			err = errNoSecret
		}
	}
	return value, err
}
