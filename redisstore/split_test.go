package redisstore

import (
	"context"
	"encoding/binary"
	"regexp"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
)

// hangingSlot is a connection to a Cluster. Calls on the second slot hang until the caller's context ends. The call that
// gives units back to the first slot waits until the caller has overwritten its keys.
type hangingSlot struct {
	Conn
	cancel context.CancelFunc
	reused chan struct{} // closed when the caller has overwritten its keys

	mu    sync.Mutex
	calls []string // the key of each call
}

func (c *hangingSlot) Do(ctx context.Context, commands []Command, replies []Reply) {
	c.mu.Lock()
	c.calls = append(c.calls, commands[0].Key)
	n := len(c.calls)
	c.mu.Unlock()
	switch n {
	case 1:
		replies[0].Text = string(binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixMicro()))) + "\x00"
	case 2:
		c.cancel()
		replies[0].Err = ctx.Err()
	default:
		<-c.reused
		replies[0].Err = ErrNotSent
	}
}

func (*hangingSlot) Cluster() bool { return true }
func (*hangingSlot) Close() error  { return nil }

// Regression: bug 42. Units that are returned after the caller has left go to the keys of the caller's request, even if
// the caller has overwritten the bytes of its keys.
func TestUndoInBackgroundUsesItsOwnKeys(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &hangingSlot{cancel: cancel, reused: make(chan struct{})}
	store, err := New(c, Config{})
	if err != nil {
		t.Fatal(err)
	}
	store.marker.right.Store(true) // do not read the format marker
	limit := rule.TokenBucket(rule.PerSecond(10))
	buffer := []byte("user-1everybody")
	borrow := func(from, to int) string { return unsafe.String(&buffer[from], to-from) }
	ops, results := []engine.Op{{Space: "s", Key: borrow(0, 6), Charges: []engine.Charge{
		{Limit: limit, Cost: 1}, {Limit: limit, Cost: 1, Key: borrow(6, 15)},
	}}}, make([]engine.Answer, 1)
	store.Do(ctx, ops, results)
	if results[0].Err == nil {
		t.Fatalf("the second slot did not answer: %+v", results[0])
	}
	copy(buffer, "user-2somebody!")
	clear(ops)
	close(c.reused)
	if err := store.Close(); err != nil { // waits for the give
		t.Fatal(err)
	}
	const one, all = "hg/:s/tb/{user-1}", "hg/:s/tb/{everybody}"
	// A settlement returns the units. Its first key marks the reservation as settled.
	settled := regexp.MustCompile(`^hg/:s/s/undo-[A-Z0-9]+/\{user-1\}$`)
	if len(c.calls) != 3 || c.calls[0] != one || c.calls[1] != all || !settled.MatchString(c.calls[2]) {
		t.Errorf("calls on %q", c.calls)
	}
}
