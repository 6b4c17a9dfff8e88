package daemon

import (
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

// rereadSecret is the interval for reading the secret again. A store that has lost its data gets a new secret. Until
// all servers have read it, they refuse each other's reservations.
const rereadSecret = time.Minute

// sharedSecret is the secret shared by all servers on one store. The first server that needs it creates it.
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

// secretIn returns the function that reads the store's secret. On Redis all servers share it. A memory store includes
// it in the snapshot, so that reservations can be settled after a restart.
func secretIn(opened open.Opened) func(context.Context) ([]byte, error) {
	if opened.Redis == nil {
		return (&sharedSecret{values: opened.Memory}).get
	}
	return (&sharedSecret{values: opened.Redis}).get
}

// get returns the secret. While the store does not answer, it returns the last secret that was read. If none was read
// yet, it returns the error of the last attempt.
func (s *sharedSecret) get(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secret != nil && time.Since(s.read) < rereadSecret {
		return s.secret, nil
	}
	if s.secret == nil && s.failed != nil && time.Since(s.tried) < retrySecret {
		return nil, s.failed
	}
	value, version, err := s.values.Get(ctx, secretName)
	if err == nil && version == 0 {
		if _, _, err = s.values.CompareAndSet(ctx, secretName, 0, rand.Text()+rand.Text()); err == nil {
			value, version, err = s.values.Get(ctx, secretName) // another server may have been first
		}
		if err == nil && (version == 0 || value == "") { // the store has just lost it
			err = errNoSecret
		}
	}
	switch {
	case err == nil:
		s.secret, s.read = []byte(value), time.Now()
		return s.secret, nil
	case s.secret != nil:
		s.read = time.Now() // also after an error, to limit the attempts
		return s.secret, nil
	default:
		s.failed, s.tried = err, time.Now()
		return nil, err
	}
}
