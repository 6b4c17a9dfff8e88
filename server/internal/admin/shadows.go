package admin

import (
	"net/http"
	"strconv"

	"github.com/headgate/headgate/server/internal/adminapi"
)

func (a *api) shadows(r *http.Request, _ *adminapi.None) (answer adminapi.Shadows, err error) {
	only := r.URL.Query().Get("policy")
	if only != "" {
		p, ok := a.inForce().current.Policies.Get(only)
		if !ok {
			return answer, adminapi.NoPolicy(only)
		}
		if !p.Shadow && p.Candidate() == "" {
			return answer, adminapi.BadField("policy", strconv.Quote(only)+" has no shadow; accepted: a policy with shadow")
		}
	}
	answer.Shadows = []adminapi.Shadow{}
	for _, c := range a.Shadows() {
		if only == "" || c.Policy == only {
			answer.Shadows = append(answer.Shadows, c)
		}
	}
	return answer, nil
}
