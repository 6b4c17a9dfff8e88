package httpapi

import (
	"errors"
	"slices"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/jsontext"
	"github.com/headgate/headgate/server/internal/service"
)

// chargeFields holds the fields of one charge, in a request with a single charge or in an element of charges.
type chargeFields struct {
	Policy *string           `json:"policy"`
	Key    *string           `json:"key"`
	Cost   *int64            `json:"cost"`
	Limit  *policy.LimitSpec `json:"limit"`
}

const chargesAccepted = "charges: 1 to 32 in one request"

// check returns an error if a field other than the limit is missing or invalid. Callers check the limit's contents and
// the key's length.
func (f *chargeFields) check() error {
	switch {
	case f.Key == nil:
		return badField("key", "key is not set; accepted: 1 to 1024 bytes")
	case f.Policy == nil && f.Limit == nil:
		return badField("policy", "policy is not set; accepted: the name of a policy, or limit instead")
	case f.Policy != nil && f.Limit != nil:
		return badField("limit", "limit with policy; accepted: one of them")
	case f.Policy != nil && *f.Policy == "":
		return badField("policy", "policy is empty; accepted: the name of a policy")
	case f.Cost != nil && *f.Cost < 0:
		return badField("cost", "cost is "+strconv.FormatInt(*f.Cost, 10)+"; accepted: a whole number, 0 or more")
	default:
		return nil
	}
}

// item checks one of several charges and converts it.
func (f *chargeFields) item() (item decide.Item, err error) {
	if err := f.check(); err != nil {
		return item, err
	}
	if n := len(*f.Key); n < 1 || n > engine.MaxKeyBytes {
		return item, badField("key", "key is "+strconv.Itoa(n)+" bytes; accepted: 1 to 1024 bytes")
	}
	item.Key = *f.Key
	if f.Cost != nil {
		item.Cost, item.HasCost = *f.Cost, true
	}
	if f.Policy != nil {
		item.Policy = *f.Policy
		return item, nil
	}
	limits, err := f.Limit.Limits()
	switch {
	case err != nil:
		return item, badLimit(err)
	case f.Limit.All != nil:
		return item, badField("limit", "limit.all in a charge; accepted: one limit, and a charge for each")
	}
	item.Limit = limits[0]
	return item, nil
}

// badLimit returns the error for an invalid limit, which names the field inside the limit.
func badLimit(err error) error {
	field, detail := policy.Explain("limit", err)
	return &service.Error{Code: service.WrongVerb, Field: field, Err: errors.New(detail)}
}

// items converts the charges of a request.
func (f *requestFields) items() ([]decide.Item, error) {
	switch n := len(*f.Charges); {
	case f.chargeFields != (chargeFields{}):
		return nil, badField("charges", "charges with policy, limit, key or cost; accepted: these inside charges")
	case n < 1 || n > engine.MaxCharges:
		return nil, badField("charges", chargesAccepted)
	}
	items := make([]decide.Item, len(*f.Charges))
	for i, raw := range *f.Charges {
		var err error
		if items[i], err = itemOf(raw); err != nil {
			return nil, service.OfCharge(i, err)
		}
	}
	return items, nil
}

// itemOf parses one charge. The argument raw is valid JSON.
func itemOf(raw []byte) (item decide.Item, err error) {
	if raw[0] != '{' {
		return item, badField("", "no JSON object; accepted: objects")
	}
	if plain, ok := plainFields(raw); ok {
		return plain.item()
	}
	var fields chargeFields
	if err := jsontext.Object(raw, &fields, counted); err != nil {
		return item, (&verb{fields: counted}).refuse(jsontext.ErrorOf("charge", err), raw, counted)
	}
	return fields.item()
}

// chargesOf returns the indexes of the binding limit's charges. It returns nil for a request without charges.
func chargesOf(r *decide.Response) []int {
	if c := r.Bound(); c != nil && r.Listed {
		return slices.Collect(c.Covered())
	}
	return nil
}
