package admin_test

import (
	"strings"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/policies"
	"github.com/headgate/headgate/server/internal/service"
)

// TestDenyOfSeveralLimits (regression: bug 72) checks a change that denies a key under a policy with several limits,
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

// TestDenyOfBytes checks that a key that is not UTF-8 is denied, explained and restored with the text that lists and
// commands print (regression: bug 105).
func TestDenyOfBytes(t *testing.T) {
	w := newWorld(t, "")
	w.take("day", "\xff", 1)
	w.take("day", "base64:/w==", 1) // another key, which looks like the text of the first
	const text, other = `"base64:/w=="`, `"base64:YmFzZTY0Oi93PT0="`
	denied := func(text string) bool {
		e := answer[explained](t, w.call("POST", "/admin/v1/keys/explain", `{"key":`+text+`,"policy":"day"}`)).Explanations[0]
		return !e.Allowed
	}
	change := answer[policies.Change](t, w.call("POST", "/admin/v1/changes", `{"policy":"day","key":`+text+`,"fields":{"deny":true},"author":"ann"}`))
	if change.Key != "base64:/w==" || !denied(text) || denied(other) {
		t.Errorf("%+v: denied %t, the other key %t", change, denied(text), denied(other))
	}
	var responses [1]decide.Response
	for key, allowed := range map[string]bool{"\xff": false, "base64:/w==": true} {
		w.service.Do(t.Context(), service.RESP, []decide.Request{{Kind: engine.OpAllow, Item: decide.Item{Policy: "day", Key: key}}}, responses[:])
		if responses[0].Err != nil || responses[0].Allowed != allowed {
			t.Errorf("%q: %+v", key, responses[0])
		}
	}
	if got := w.call("GET", "/admin/v1/changes", "").Body.String(); !strings.Contains(got, `"key":"base64:/w=="`) || !strings.Contains(got, `"after":"deny"`) {
		t.Errorf("changes: %s", got)
	}
	if got := w.call("GET", "/admin/v1/history", "").Body.String(); !strings.Contains(got, `"key_base64":"/w=="`) {
		t.Errorf("history: %s", got)
	}
	answer[policies.Change](t, w.call("POST", "/admin/v1/changes/clear", `{"policy":"day","key":`+text+`,"author":"ann"}`))
	if denied(text) {
		t.Error("denied after the end of the change")
	}
}
