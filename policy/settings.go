package policy

import (
	"fmt"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/layer/prefetch"
)

// newPolicy reads a policy's settings, without its limits, and reports all errors.
func newPolicy(name string, fields *policyFields, report func(error)) *Policy {
	p := defaultPolicy(name)
	try := func(err error) {
		if err != nil {
			report(err)
		}
	}
	if engine.CheckPolicyName(name) != nil {
		report(fmt.Errorf("policy name %s; accepted: %s", engine.Quote(name), nameAccepted))
	}
	if fields.space != "" {
		p.space = fields.space
	}
	for i := range settingRows {
		if value := fields.Settings[settingRows[i].Name]; value != nil {
			try(settingRows[i].read(p, value, fields.Settings))
		}
	}
	return p
}

func defaultPolicy(name string) *Policy {
	return &Policy{Name: name, space: engine.PolicySpace(name), Cost: 1, Enabled: true, Headers: HeadersDraft, Failure: Local}
}

// Summary describes the policy.
func (p *Policy) Summary() Summary {
	return Summary{Name: p.Name, Limits: p.Limits(), Settings: p.settings(), Overrides: p.overrides()}
}

// checkLease returns an error if the policy has mode: leased and combines several limits, has a limit whose units
// cannot be prefetched, or has a cost other than 1.
func (p *Policy) checkLease() error {
	switch {
	case !p.Leased:
		return nil
	case p.combined:
		return invalid("mode", "leased with all", "exact; a policy with one limit can be leased, also where all names it")
	case !prefetch.Prefetchable(p.members[0].limit):
		return invalid("mode", "leased for "+p.members[0].limit.String(), prefetch.Accepted)
	case p.Cost != 1:
		return invalid("mode", "leased with cost "+strconv.FormatInt(p.Cost, 10), "leased where a request costs 1")
	default:
		return nil
	}
}

// checkCost returns an error if the cost is above the capacity of one of the limits.
func (p *Policy) checkCost(cost int64) error {
	for _, m := range p.members {
		n := m.limit.Numbers()
		if n.Algorithm.DeniesAll() {
			continue
		}
		steps := []algo.Step{{Limit: n, Cost: cost}}
		if algo.Peek(steps, algo.Instant{}); steps[0].Outcome.Wait == algo.Never {
			return invalid("cost", strconv.FormatInt(cost, 10), "at most what "+m.limit.String()+" lets pass at once")
		}
	}
	return nil
}
