package admin

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/headgate/headgate/internal/adminapi"
)

// maxActions is how many actions are kept. One more takes the place of the oldest.
const maxActions = 500

// history is the last actions. The log has all of them, as lines audit.
type history struct {
	mu      sync.Mutex
	actions []adminapi.Action
}

func (h *history) add(a adminapi.Action) {
	a.At = time.Now().UTC().Truncate(time.Millisecond)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.actions) == maxActions {
		h.actions = append(h.actions[:0], h.actions[1:]...)
	}
	h.actions = append(h.actions, a)
}

// listHistory answers the last actions, the latest first.
func (a *api) listHistory(*http.Request, *adminapi.None) (adminapi.History, error) {
	a.history.mu.Lock()
	defer a.history.mu.Unlock()
	actions := append([]adminapi.Action{}, a.history.actions...)
	slices.Reverse(actions)
	return adminapi.History{Actions: actions}, nil
}
