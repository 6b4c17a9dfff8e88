package admin_test

import (
	"testing"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/policies"
)

// TestDenyOfSeveralLimits (regression: bug 76) checks a change that denies a key under a policy with several limits,
// and the end of this change. Neither affects the counters of the key or of other keys.
func TestDenyOfSeveralLimits(t *testing.T) {
	w := newWorld(t, "")
	w.take("both", "joe", 2)
	w.take("both", "ann", 1)
	explain := func(key string) explained {
		return answer[explained](t, w.call("POST", "/admin/v1/keys/explain", `{"key":"`+key+`","policy":"both"}`))
	}
	standing := func(key string, remaining int64) {
		t.Helper()
		e := explain(key).Explanations[0]
		if !e.Allowed || !e.Combined || len(e.Limits) != 2 || e.Limits[0].Remaining != remaining || e.Limits[0].Combined {
			t.Errorf("%s: %+v, want %d remaining", key, e, remaining)
		}
	}
	standing("joe", 1)
	tried := answer[struct {
		Policies []struct{ Before, After *policy.Summary }
	}](t, w.call("POST", "/admin/v1/changes/try", `{"policy":"both","key":"joe","fields":{"deny":true}}`)).Policies
	if len(tried) != 1 || len(tried[0].Before.Overrides) != 0 || len(tried[0].After.Overrides) != 1 || tried[0].After.Overrides[0].Limit != "deny" {
		t.Errorf("the trial says %+v", tried)
	}
	answer[policies.Change](t, w.call("POST", "/admin/v1/changes", `{"policy":"both","key":"joe","fields":{"deny":true},"author":"ann","for":"10m"}`))
	e := explain("joe").Explanations[0]
	if e.Allowed || len(e.Limits) != 1 || e.Limits[0].Limit != "deny" || e.Limits[0].Rule != "joe" || e.Limits[0].From != "change" || !e.Limits[0].Combined || !e.Limits[0].Decides || e.Never || e.FreesAt == "" {
		t.Errorf("a denied key: %+v", e)
	}
	w.take("both", "joe", 2)
	standing("ann", 2)
	shown := answer[struct {
		Overrides []struct{ Key, Limit string }
		Count     int `json:"override_count"`
	}](t, w.call("GET", "/admin/v1/policies/both", ""))
	if shown.Count != 1 || shown.Overrides[0].Key != "joe" || shown.Overrides[0].Limit != "deny" {
		t.Errorf("the policy is shown as %+v", shown)
	}
	answer[policies.Change](t, w.call("POST", "/admin/v1/changes/clear", `{"policy":"both","key":"joe","author":"ann"}`))
	standing("joe", 1)
	standing("ann", 2)
}
