package httplimit

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// Item is one of several charges of a request: see [AllOf].
type Item struct {
	// Policy is the policy to charge.
	Policy *headgate.Policy
	// Choose, if it is set, chooses the policy for a request, such as the policy for the customer's plan. If it returns
	// nil, Policy applies.
	Choose func(*http.Request) *headgate.Policy
	// Key is the key to charge.
	Key Key
	// Cost returns the number of units to charge, 0 or more. nil means 1.
	Cost func(*http.Request) int64
}

// AllOf returns a decider that charges each request to all items, or to none. The limiter is that of the policies:
//
//	httplimit.By(httplimit.AllOf(limiter,
//		httplimit.Item{Policy: perAddress, Key: httplimit.ByIP()},
//		httplimit.Item{Choose: planOf, Key: byCustomer},
//	))
//
// A request without one of the keys gets a 400, as with [New]. [WithFinalCost] corrects the charge on every limit of
// every item to the same number. AllOf panics if there are no items, and if an item has no key, no policy, an invalid
// one or one of another limiter.
func AllOf(limiter *headgate.Limiter, items ...Item) Settler {
	if len(items) == 0 {
		panic("httplimit: AllOf has no items; accepted: 1 or more")
	}
	if limiter == nil {
		panic("httplimit: the limiter of AllOf is nil; accepted: the limiter of the policies")
	}
	for i, item := range items {
		require(item.Key != nil, fmt.Sprintf("the key of item %d", i))
		require(item.Policy != nil || item.Choose != nil, fmt.Sprintf("the policy of item %d", i))
		if item.Policy != nil {
			if err := item.Policy.Err(); err != nil {
				panic("httplimit: " + strings.TrimPrefix(err.Error(), "headgate: "))
			}
			if item.Policy.Core().Limiter() != limiter.Core() {
				panic(fmt.Sprintf("httplimit: the policy of item %d is of another limiter; accepted: a policy of the limiter of AllOf", i))
			}
		}
	}
	return &allOf{limiter: limiter, items: items}
}

type allOf struct {
	limiter   *headgate.Limiter
	items     []Item
	unsettled unsettled // with a final cost
}

// AllowRequest implements [Decider].
func (a *allOf) AllowRequest(r *http.Request) (headgate.Decision, error) {
	answer, err := a.ChargeRequest(r, false)
	return answer.Decision, err
}

// ChargeRequest implements [Settler].
func (a *allOf) ChargeRequest(r *http.Request, settles bool) (answer Answer, err error) {
	corrects, charges := settles, make([]headgate.Charge, len(a.items))
	for i := range a.items {
		if charges[i], err = a.items[i].charge(r); err != nil {
			return answer, err
		}
		answer.Cost = max(answer.Cost, charges[i].Units)
		settles = settles || charges[i].Policy.Core().Paces()
	}
	charged, op, d, err := a.limiter.ChargeAll(r.Context(), settles, charges...)
	if err != nil {
		return answer, a.mistake(charges, err)
	}
	if corrects {
		_, key := op.Subject(d.Binding.Index)
		a.unsettled.shorten(&d, chargedKey{d.Binding.Policy, key})
		if d.Allowed {
			answer.Done = a.addUnsettled(r, charges)
		}
	}
	answer.Decision, answer.Outcome = d, a.limiter.Core().Outcomes(&op)
	if charged != nil {
		answer.Settle = charged.Settle
	}
	if len(d.Limits) > 1 {
		answer.Limits = limitsOf(&d, func(limit int) int64 { return op.Charges[limit].Cost })
	}
	return answer, nil
}

// addUnsettled counts the charges as unsettled until the returned function is called.
func (a *allOf) addUnsettled(r *http.Request, charges []headgate.Charge) (settled func()) {
	ends := make([]func(), len(charges))
	for i := range charges {
		ends[i] = a.unsettled.add(r.Context(), chargedKey{charges[i].Policy.Name(), strings.Clone(charges[i].Key)})
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

func (i *Item) charge(r *http.Request) (headgate.Charge, error) {
	key, err := i.Key.of(r)
	if err != nil {
		return headgate.Charge{}, err
	}
	c := headgate.Charge{Policy: i.Policy, Key: key, Units: 1}
	if i.Choose != nil {
		if chosen := i.Choose(r); chosen != nil {
			c.Policy = chosen
		}
	}
	if c.Policy == nil {
		return c, &programError{errNoItemPolicy}
	}
	if i.Cost == nil {
		return c, nil
	}
	switch c.Units = i.Cost(r); {
	case c.Units < 0:
		return c, &programError{fmt.Errorf("the cost of an item is %d; accepted: 0 or more", c.Units)}
	case c.Units == 0:
		c.Units = headgate.NoUnits
	}
	return c, nil
}

// mistake returns the error of a request, as the program's mistake unless the error is of a key, which clients choose.
func (a *allOf) mistake(charges []headgate.Charge, err error) error {
	for i := range charges {
		if mistake := charges[i].Policy.Err(); mistake != nil {
			return &programError{mistake}
		}
	}
	if input, ok := errors.AsType[*engine.InputError](err); ok && input.Field != "key" { // too many limits
		return &programError{err}
	}
	return err
}
