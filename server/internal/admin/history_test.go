package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/headgate/headgate/server/internal/adminapi"
)

// An operator accepts a loss of data once, and the history says who did and why.
func TestAcceptLoss(t *testing.T) {
	w := newWorld(t, "")
	w.lost = true
	if got := w.call("POST", "/admin/v1/store/accept-loss", `{"reason":"a test system"}`); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "author: ") {
		t.Errorf("without an author: %d %s", got.Code, got.Body)
	}
	for _, want := range []bool{true, false} {
		if got := answer[adminapi.AcceptedLoss](t, w.call("POST", "/admin/v1/store/accept-loss", `{"author":"ann","reason":"a test system"}`)); got.Lost != want {
			t.Errorf("lost %t, want %t", got.Lost, want)
		}
	}
	history := answer[adminapi.History](t, w.call("GET", "/admin/v1/history", "")).Actions
	if len(history) != 1 || history[0].Action != "accept-loss" || history[0].Author != "ann" || history[0].Reason != "a test system" {
		t.Errorf("%+v", history)
	}
}
