package admin_test

import (
	"fmt"
	"testing"

	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/policies"
)

// TestExplain covers the deciding limit, an override, a shadow, a change, and a key without requests.
func TestExplain(t *testing.T) {
	w := newWorld(t, "")
	w.take("both", "joe", 4)
	got := answer[explained](t, w.call("POST", "/admin/v1/keys/explain", `{"key":"joe","policy":"both"}`)).Explanations[0]
	api, trial := got.Limits[0], got.Limits[1]
	if got.Allowed || !api.Decides || api.Remaining != 0 || api.RetryAfter != 3600_000 || api.From != "file" || !api.State {
		t.Errorf("%+v", got)
	}
	if !trial.Shadow || trial.Decides || trial.Policy != "trial" {
		t.Errorf("%+v", trial)
	}
	if all := answer[explained](t, w.call("POST", "/admin/v1/keys/explain", `{"key":"joe"}`)); len(all.Explanations) != 3 {
		t.Errorf("joe is counted by api and trial, and so by both: %+v", all)
	}
	if none := answer[explained](t, w.call("POST", "/admin/v1/keys/explain", `{"key":"ann"}`)); len(none.Explanations) != 0 {
		t.Errorf("%+v", none)
	}
	vip := answer[explained](t, w.call("POST", "/admin/v1/keys/explain", `{"key":"vip-1","policy":"api"}`)).Explanations[0].Limits[0]
	if vip.Rule != "vip-*" || vip.Remaining != 10 || vip.From != "file" {
		t.Errorf("%+v", vip)
	}
	answer[policies.Change](t, w.call("POST", "/admin/v1/changes", `{"policy":"api","key":"joe","fields":{"unlimited":true},"author":"ann"}`))
	lifted := answer[explained](t, w.call("POST", "/admin/v1/keys/explain", `{"key":"joe","policy":"both"}`)).Explanations[0]
	if c := lifted.Limits[0]; !lifted.Allowed || c.Rule != "joe" || c.From != "change" || c.Change.Author != "ann" || c.Change.Version == 0 {
		t.Errorf("%+v", lifted)
	}
}

// TestExplainWhileTheStoreIsAway checks that a key is explained under every policy if the store does not answer whether
// it has state for the key.
func TestExplainWhileTheStoreIsAway(t *testing.T) {
	w := newWorld(t, "")
	policies := len(answer[struct{ Policies []struct{} }](t, w.call("GET", "/admin/v1/policies", "")).Policies)
	w.away = true
	if all := answer[explained](t, w.call("POST", "/admin/v1/keys/explain", `{"key":"ann"}`)); len(all.Explanations) != policies {
		t.Errorf("%d of %d policies are explained", len(all.Explanations), policies)
	}
}

// TestExplainClasses checks the remaining units for each class that the key's requests can have.
func TestExplainClasses(t *testing.T) {
	w := newWorld(t, "")
	for _, key := range []string{"joe", "nightly"} {
		w.take("lanes", key, 6) // in the last class
	}
	standings := func(key, more string) string {
		l := answer[adminapi.Explanations](t, w.call("POST", "/admin/v1/keys/explain", `{"key":"`+key+`","policy":"lanes"`+more+`}`)).Explanations[0].Limits[0]
		text := fmt.Sprintf("%s %d/%d:", l.Class, *l.Remaining, *l.Capacity)
		for _, c := range l.Classes {
			text += fmt.Sprintf(" %s %v %d/%d", c.Class, c.Allowed, *c.Remaining, *c.Capacity)
		}
		return text
	}
	for _, c := range []struct{ key, more, want string }{
		{"joe", "", "batch 0/6: live true 4/10 batch false 0/6"},
		{"joe", `,"class":"live"`, "live 4/10: live true 4/10 batch false 0/6"},
		{"nightly", `,"class":"live"`, "batch 0/6: batch false 0/6"},
		{"ann", "", "batch 6/6: live true 10/10 batch true 6/6"},
	} {
		if got := standings(c.key, c.more); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.key, c.more, got, c.want)
		}
	}
	if l := answer[adminapi.Explanations](t, w.call("POST", "/admin/v1/keys/explain", `{"key":"joe","policy":"api"}`)).Explanations[0].Limits[0]; l.Classes != nil {
		t.Errorf("a policy without classes: %+v", l)
	}
}
