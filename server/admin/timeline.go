package admin

import (
	"net/http"
	"slices"

	"github.com/headgate/headgate/dashboard/topkeys"
	"github.com/headgate/headgate/server/service"
)

// timeline answers the last decisions on a key: under one policy, or under each.
func (a *api) timeline(w http.ResponseWriter, r *http.Request) (any, error) {
	var body struct {
		keyFields

		Policy string `json:"policy"`
	}
	if err := decode(w, r, &body); err != nil {
		return nil, err
	}
	key, err := body.Read()
	if err != nil {
		return nil, err
	}
	f := a.inForce()
	names := []string{body.Policy}
	if _, ok := f.current.Policies.Get(body.Policy); body.Policy != "" && !ok && body.Policy[0] != '(' {
		return nil, noPolicy(body.Policy)
	}
	if body.Policy == "" {
		names = append(f.current.Policies.Names(), service.InlinePolicy)
	}
	of := a.counted(key)
	answer := struct {
		Decisions []topkeys.EventJSON `json:"decisions"`
	}{[]topkeys.EventJSON{}}
	for _, name := range names {
		for _, secret := range of.counted {
			for _, e := range a.Top.Timeline(name, secret) {
				answer.Decisions = append(answer.Decisions, e.JSON(name))
			}
		}
	}
	slices.SortStableFunc(answer.Decisions, func(a, b topkeys.EventJSON) int { return b.At.Compare(a.At) })
	return answer, nil
}
