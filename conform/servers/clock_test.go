package servers

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/headgate/headgate/conform/redistest"
	"github.com/headgate/headgate/internal/adminapi"
	"github.com/headgate/headgate/server/daemon"
	"github.com/headgate/headgate/server/policies"
)

// A change expires according to Redis's clock.
func TestChangeExpiresByTheStoresClock(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	w := openWeb(t, daemon.Config{Store: "redis://" + s.Addr(), Base: configOf(t, changing), Deadline: 10 * time.Second})
	c := policies.Change{Change: adminapi.Change{Policy: "daily", Fields: json.RawMessage(`{"deny":true}`), Author: "ann", Expires: time.Now().Add(1500 * time.Millisecond)}}
	made, err := w.daemon.Policies().Change(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if off := time.Since(made.At).Abs(); off > time.Second {
		t.Errorf("made at %s, %s from this machine's clock, which Redis shares", made.At, off)
	}
	w.want(http.StatusTooManyRequests, takeOf("daily", 1))
	w.until(http.StatusOK, "/v1/allow", takeOf("daily", 1))
	if early := time.Until(c.Expires); early > 0 {
		t.Errorf("ended %s before its end", early)
	}
	if n := len(w.daemon.Policies().Changes()); n != 0 {
		t.Errorf("%d changes", n)
	}
}
