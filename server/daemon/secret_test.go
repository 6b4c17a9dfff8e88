package daemon

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/memstore"
)

// awayValues is a coordinator that can be made unavailable.
type awayValues struct {
	engine.Coordinator

	mu   sync.Mutex
	away bool
}

func (a *awayValues) set(away bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away = away
}

func (a *awayValues) Get(ctx context.Context, name string) (string, int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away {
		return "", 0, engine.ErrStoreUnavailable
	}
	return a.Coordinator.Get(ctx, name)
}

// TestServersShareASecret checks that servers that start together agree on one secret, and keep it while the store is
// away and if the store has lost it.
func TestServersShareASecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := func() engine.Coordinator {
			store, err := memstore.New(memstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			return store
		}
		values := &awayValues{Coordinator: open()}
		ctx := context.Background()
		servers := []*sharedSecret{{values: values}, {values: values}, {values: values}}
		secrets := make([][]byte, len(servers))
		agree := func() []byte {
			t.Helper()
			var wg sync.WaitGroup
			for i, s := range servers {
				wg.Go(func() {
					secret, err := s.get(ctx)
					if err != nil {
						t.Error(err)
					}
					secrets[i] = secret
				})
			}
			wg.Wait()
			for i := range secrets {
				if len(secrets[i]) < 32 || !bytes.Equal(secrets[i], secrets[0]) {
					t.Errorf("server %d has %q, server 0 %q", i, secrets[i], secrets[0])
				}
			}
			return secrets[0]
		}
		values.set(true)
		if _, err := servers[0].get(ctx); !errors.Is(err, engine.ErrStoreUnavailable) {
			t.Errorf("away from the start: %v", err)
		}
		values.set(false)
		if _, err := servers[0].get(ctx); !errors.Is(err, engine.ErrStoreUnavailable) {
			t.Errorf("asked again at once: %v", err)
		}
		time.Sleep(time.Second)
		first := agree()
		values.set(true)
		time.Sleep(time.Hour)
		if !bytes.Equal(agree(), first) {
			t.Error("another secret while the store is away")
		}
		values.set(false)
		values.Coordinator = open()
		time.Sleep(time.Hour)
		if !bytes.Equal(agree(), first) { // regression: bug 246
			t.Error("another secret after the store has lost it: earlier reservations cannot be settled")
		}
	})
}
