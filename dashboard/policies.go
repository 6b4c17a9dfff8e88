package dashboard

import (
	"net/http"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/internal/adminapi"
	"github.com/headgate/headgate/internal/operate"
)

// view returns a policy in the API's form.
func view(of *headgate.Policy) adminapi.PolicyView {
	limits := []string{}
	for _, l := range operate.Limits(of) {
		limits = append(limits, l.String())
	}
	return adminapi.PolicyView{Name: of.Name(), InForce: adminapi.Summary{Name: of.Name(), Limits: limits, Settings: adminapi.Settings{Failure: "local", Mode: "exact", Cost: 1, Enabled: true}}}
}

func (p *Program) listPolicies(r *http.Request, _ *adminapi.None) (answer adminapi.Policies, err error) {
	from, n, part, err := adminapi.Page(r)
	if err != nil {
		return answer, err
	}
	answer = adminapi.Policies{Generation: 1, Policies: []adminapi.PolicyView{}}
	for _, one := range p.shown() {
		if !strings.Contains(strings.ToLower(one.Name()), part) {
			continue
		}
		if answer.Total++; answer.Total >= from && answer.Total-from < n {
			answer.Policies = append(answer.Policies, view(one))
		}
	}
	return answer, nil
}

func (p *Program) policy(name string) (*headgate.Policy, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.policies[name]; one != nil {
		return one, nil
	}
	return nil, adminapi.NoPolicy(name)
}

func (p *Program) showPolicy(r *http.Request, _ *adminapi.None) (v adminapi.PolicyView, err error) {
	one, err := p.policy(r.PathValue("name"))
	if err != nil {
		return v, err
	}
	return view(one), nil
}
