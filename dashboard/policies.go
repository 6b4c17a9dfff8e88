package dashboard

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/headgate/headgate"
)

// view is a policy as the API shows it.
func view(of *headgate.Policy) object {
	limits := []string{}
	for _, l := range of.Limits() {
		limits = append(limits, l.String())
	}
	now := object{"name": of.Name(), "limits": limits, "failure": "local", "mode": "exact", "headers": "", "cost": 1, "shadow": false, "enabled": true}
	return object{"name": of.Name(), "in_force": now, "file": nil, "change": nil, "override_count": 0}
}

func (p *Program) listPolicies(r *http.Request) (any, error) {
	from, err := number(r, "from", 1, 1<<31-1)
	if err != nil {
		return nil, err
	}
	n, err := number(r, "n", 1000, 1000)
	if err != nil {
		return nil, err
	}
	part, total, all := strings.ToLower(r.URL.Query().Get("name")), 0, []object{}
	for _, one := range p.shown() {
		if !strings.Contains(strings.ToLower(one.Name()), part) {
			continue
		}
		if total++; total >= from && total < from+n {
			all = append(all, view(one))
		}
	}
	return object{"generation": 1, "total": total, "policies": all}, nil
}

func (p *Program) policy(name string) (*headgate.Policy, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.policies[name]; one != nil {
		return one, nil
	}
	return nil, &problem{http.StatusNotFound, "policy", "no policy " + strconv.Quote(name[:min(len(name), 128)])}
}

func (p *Program) showPolicy(r *http.Request) (any, error) {
	one, err := p.policy(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	return view(one), nil
}
