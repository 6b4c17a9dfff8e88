package admin_test

import (
	"testing"

	"github.com/headgate/headgate/server/internal/adminapi"
)

// TestChangesOfOneLimit checks that the change of one limit is shown with that limit's override, and that a policy
// inside a policy with "all" is overridden under its own name.
func TestChangesOfOneLimit(t *testing.T) {
	w := newWorld(t, "")
	answer[adminapi.Change](t, w.call("POST", "/admin/v1/changes", `{"policy":"plan/hour","key":"eve","fields":"9/1h","author":"ann"}`))
	if o := answer[adminapi.PolicyView](t, w.call("GET", "/admin/v1/policies/plan", "")).Overrides[0]; o.Change == nil || o.Change.Policy != "plan/hour" || o.Of != "hour" || o.File != `fixed-window 8/1h name "hour"` {
		t.Errorf("%+v", o)
	}
	made := answer[adminapi.Change](t, w.call("POST", "/admin/v1/changes", `{"policy":"both/api","key":"joe","fields":"9/1h","author":"bob"}`))
	if e := answer[explained](t, w.call("POST", "/admin/v1/keys/explain", `{"key":"joe","policy":"both"}`)).Explanations[0].Limits[0]; made.Policy != "api" || e.From != "change" {
		t.Errorf("%+v, explained as %+v", made, e)
	}
	if o := answer[adminapi.PolicyView](t, w.call("GET", "/admin/v1/policies/api", "")).Overrides[0]; o.Change == nil || o.Change.Author != "bob" {
		t.Errorf("%+v", o)
	}
	answer[adminapi.Change](t, w.call("POST", "/admin/v1/changes/clear", `{"policy":"both/api","key":"joe","author":"bob"}`))
}
