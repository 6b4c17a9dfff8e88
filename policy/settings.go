package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/layer/prefetch"
)

// newPolicy reads a policy's settings, without its limits, and reports all errors.
func newPolicy(name string, fields *policyFields, report func(error)) *Policy {
	p := &Policy{Name: name, space: engine.PolicySpace(name), Cost: 1, Enabled: true, Headers: HeadersDraft, Failure: Local}
	try := func(err error) {
		if err != nil {
			report(err)
		}
	}
	if engine.CheckPolicyName(name) != nil {
		report(fmt.Errorf("policy name %s; accepted: %s", engine.Quote(name), nameAccepted))
	}
	if fields == nil {
		report(errors.New(`empty; accepted: a limit such as "100/s", or its fields`))
		return p
	}
	if fields.space != "" {
		p.space = fields.space
	}
	if fields.Failure != nil {
		var err error
		p.Failure, err = ParseFailure(*fields.Failure)
		try(err)
	}
	try(p.checkMode(fields.Mode))
	try(p.setHeaders(fields.Headers))
	if fields.Cost != nil {
		if p.Cost = *fields.Cost; p.Cost < 0 || p.Cost > algo.MaxUnits {
			report(invalid("cost", strconv.FormatInt(p.Cost, 10), costAccepted))
		}
	}
	try(p.setUnit(fields.Unit))
	try(p.setEstimateMax(fields.EstimateMax))
	try(p.setTerm(fields))
	try(p.setClasses(fields.Classes))
	p.Shadow = fields.Shadow != nil && fields.Shadow.on
	p.Enabled = fields.Enabled == nil || *fields.Enabled
	return p
}

// Summary describes the policy.
func (p *Policy) Summary() Summary {
	s := Settings{
		First: p.choosing == p, Failure: p.Failure.String(), Mode: p.Mode(), Headers: string(p.Headers), Cost: p.Cost, Unit: p.Unit,
		Classes: p.classes.texts(), Shadow: p.Shadow, Candidate: p.Candidate(), Enabled: p.Enabled,
	}
	if p.EstimateMax {
		s.EstimateMax = estimateAccepted
	}
	if t := p.Term; t != nil {
		s.SettleWithin, s.Unsettled = engine.FormatSpan(t.Within), t.Then.String()
	}
	return Summary{Name: p.Name, Limits: p.Limits(), Settings: s, Overrides: p.overrides()}
}

func (p *Policy) checkMode(mode *string) error {
	switch {
	case mode == nil || *mode == "exact":
		return nil
	case *mode == "leased":
		p.Leased = true
		return nil
	default:
		return invalidWord("mode", *mode, modeAccepted)
	}
}

var unitForm = regexp.MustCompile(unitPattern)

func (p *Policy) setUnit(name *string) error {
	if name == nil {
		return nil
	}
	if p.Unit = *name; !unitForm.MatchString(p.Unit) {
		return invalidWord("unit", p.Unit, unitAccepted)
	}
	return nil
}

func (p *Policy) setEstimateMax(most *string) error {
	if most == nil {
		return nil
	}
	if p.EstimateMax = *most == estimateAccepted; !p.EstimateMax {
		return invalidWord("estimate_max", *most, estimateAccepted)
	}
	return nil
}

// setTerm reads the time limit for settling reservations, and the setting for reservations that are not settled in
// time.
func (p *Policy) setTerm(fields *policyFields) error {
	if fields.SettleWithin == nil {
		if fields.Unsettled != nil {
			return invalid("unsettled", engine.Quote(*fields.Unsettled), "none without settle_within")
		}
		return nil
	}
	within, err := engine.ParseSpan(*fields.SettleWithin)
	if err != nil {
		return atField(err, "settle_within")
	}
	term := engine.Term{Within: within}
	if fields.Unsettled != nil {
		var known bool
		if term.Then, known = engine.ParseUnsettled(*fields.Unsettled); !known {
			return invalidWord("unsettled", *fields.Unsettled, unsettledAccepted)
		}
	}
	p.Term = &term
	return atOwnField(term.Check())
}

func (p *Policy) setHeaders(name *string) error {
	if name == nil {
		return nil
	}
	switch h := Headers(*name); h {
	case HeadersDraft, HeadersDraft03, HeadersXRateLimit, HeadersSpring, HeadersOff:
		p.Headers = h
		return nil
	default:
		return invalidWord("headers", *name, headersAccepted)
	}
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
