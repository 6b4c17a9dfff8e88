package admin

import (
	"net/http"

	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/service"
)

// timeline returns the latest decisions on a key, under one policy or all of them.
func (a *api) timeline(_ *http.Request, body *adminapi.KeyAndPolicy) (answer adminapi.Timeline, err error) {
	key, err := body.Read()
	if err != nil {
		return answer, err
	}
	f := a.inForce()
	names := []string{body.Policy}
	if _, ok := f.current.Policies.Get(body.Policy); body.Policy != "" && !ok && body.Policy[0] != '(' {
		return answer, adminapi.NoPolicy(body.Policy)
	}
	if body.Policy == "" {
		names = append(f.current.Policies.Names(), service.InlinePolicy)
	}
	of := a.counted(key)
	return a.Top.TimelineJSON(names, of.counted...), nil
}
