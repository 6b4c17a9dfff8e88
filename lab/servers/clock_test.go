package servers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/server/daemon"
)

// A change expires according to Redis's clock.
func TestChangeExpiresByTheStoresClock(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	w := openWeb(t, daemon.Config{Store: "redis://" + s.Addr(), Base: configOf(t, changing), Deadline: 10 * time.Second})
	expires := time.Now().Add(1500 * time.Millisecond)
	var made struct {
		At time.Time `json:"at"`
	}
	answer := w.admin(http.MethodPost, "/admin/v1/changes", fmt.Sprintf(`{"policy":"daily","fields":{"deny":true},"author":"ann","expires":%q}`, expires.Format(time.RFC3339Nano)))
	if err := json.Unmarshal([]byte(answer), &made); err != nil {
		t.Fatal(err)
	}
	if off := time.Since(made.At).Abs(); off > time.Second {
		t.Errorf("made at %s, %s from this machine's clock, which Redis shares", made.At, off)
	}
	w.want(http.StatusTooManyRequests, takeOf("daily", 1))
	w.until(http.StatusOK, "/v1/allow", takeOf("daily", 1))
	if early := time.Until(expires); early > 0 {
		t.Errorf("ended %s before its end", early)
	}
	if changes := w.admin(http.MethodGet, "/admin/v1/changes", ""); !strings.Contains(changes, `"changes":[]`) {
		t.Errorf("after it ended: %s", changes)
	}
}
