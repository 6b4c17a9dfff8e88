package admin

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/headgate/headgate/server/internal/adminapi"
)

// maxActions is the maximum number of actions kept. Each further action replaces the oldest.
const maxActions = 500

// history keeps the latest actions. The log contains all actions, as audit lines.
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

// listHistory returns the latest actions, newest first.
func (a *api) listHistory(*http.Request, *adminapi.None) (adminapi.History, error) {
	a.history.mu.Lock()
	defer a.history.mu.Unlock()
	actions := append([]adminapi.Action{}, a.history.actions...)
	slices.Reverse(actions)
	return adminapi.History{Actions: actions}, nil
}
