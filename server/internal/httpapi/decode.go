package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/jsontext"
	"github.com/headgate/headgate/server/internal/service"
)

// body is the body of a call. It contains either the fields of one request, or a batch in the requests field.
type body struct {
	requestFields

	Requests *[]json.RawMessage `json:"requests"`
}

// requestNames lists the names of requestFields.
var requestNames = append(slices.Clip(counted), "class", "charges", "atomic", "max_delay_ms", "id", "reservation", "actual", "outcomes")

// bodyNames lists the names of the fields of body.
var bodyNames = append(slices.Clip(requestNames), "requests")

type requestFields struct {
	chargeFields

	Class       *string            `json:"class"`
	Charges     *[]json.RawMessage `json:"charges"`
	Atomic      *bool              `json:"atomic"`
	MaxDelay    *int64             `json:"max_delay_ms"`
	ID          *string            `json:"id"`
	Reservation *string            `json:"reservation"`
	Actual      *actual            `json:"actual"`
	Outcomes    *outcomes          `json:"outcomes"`
}

// decodedBody contains the requests of a body. In a batch, errs contains an entry for each request: an error if the
// request is unreadable, and nil otherwise. The requests field contains only the readable requests.
type decodedBody struct {
	requests []decide.Request
	errs     []error
	batch    bool
}

// decode parses a body. If limits is not nil, it is the error for a body with inline limits. Otherwise inline limits
// are allowed.
func decode(w http.ResponseWriter, r *http.Request, v *verb, limits error) (decodedBody, error) {
	data, scanned, err := readBody(w, r, limits)
	if err != nil {
		return decodedBody{}, err
	}
	if fields, ok := plainFields(data); ok {
		request, err := fields.request(v)
		return decodedBody{requests: []decide.Request{request}}, err
	}
	if !scanned {
		if err := refusal(newScanner(limits).Write(data)); err != nil {
			return decodedBody{}, err
		}
	}
	var b body
	if err := jsontext.Decode("body", data, &b); err != nil {
		return decodedBody{}, v.refuse(err, data, bodyNames, "requests")
	}
	if b.Requests == nil {
		request, err := b.request(v)
		return decodedBody{requests: []decide.Request{request}}, err
	}
	if b.requestFields != (requestFields{}) {
		return decodedBody{}, badField("requests", "requests must be the only field: the others belong inside it")
	}
	if len(*b.Requests) < 1 || len(*b.Requests) > engine.MaxOps {
		return decodedBody{}, badField("requests", batchAccepted)
	}
	for i, raw := range *b.Requests {
		if raw[0] != '{' {
			return decodedBody{}, badField("requests", "requests."+strconv.Itoa(i)+" is no JSON object; accepted: objects")
		}
	}
	c := decodedBody{batch: true, errs: make([]error, len(*b.Requests))}
	for i, raw := range *b.Requests {
		fields, err := v.fieldsOf(raw)
		if err != nil {
			c.errs[i] = err
			continue
		}
		request, err := fields.request(v)
		if c.errs[i] = err; err == nil {
			c.requests = append(c.requests, request)
		}
	}
	return c, nil
}

// fieldsOf parses one request of a batch. The argument raw is valid JSON.
func (v *verb) fieldsOf(raw []byte) (f requestFields, err error) {
	if f, ok := plainFields(raw); ok {
		return f, nil
	}
	if err := jsontext.Object(raw, &f, requestNames); err != nil {
		return f, v.refuse(jsontext.ErrorOf("request", err), raw, requestNames)
	}
	return f, nil
}

// refuse returns the error for an unreadable body, request or charge. The argument names lists its known fields. For
// an unknown field, the error lists the verb's fields and those in the argument more. Unknown fields at deeper levels
// belong to limits.
func (v *verb) refuse(err error, data []byte, names []string, more ...string) error {
	bad, ok := errors.AsType[*jsontext.Error](err)
	if !ok {
		return err
	}
	if own := jsontext.Unknown(data, names); own != nil && bad.Unknown {
		return v.unknown(own.Field, more...)
	}
	return badField(bad.Field, bad.Detail)
}

// badField returns the error for a field, or for the whole body if field is "".
func badField(field, detail string) error {
	return &service.Error{Code: service.Invalid, Field: field, Err: errors.New(detail)}
}

// renew converts a request to renew a reservation's permits.
func (f *requestFields) renew(r decide.Request) (decide.Request, error) {
	if f.chargeFields != (chargeFields{}) || f.ID != nil {
		return r, badField("reservation", "reservation with policy, limit, key or id; accepted: one of them")
	}
	if r.Reservation = *f.Reservation; r.Reservation == "" {
		return r, badField("reservation", "reservation is empty; accepted: the reservation from the answer to reserve")
	}
	return r, nil
}

// request checks the fields of one request and converts the request.
func (f *requestFields) request(v *verb) (decide.Request, error) {
	r := decide.Request{Kind: v.kind}
	if err := v.check(f); err != nil {
		return r, err
	}
	if v.kind == engine.OpSettle {
		return v.settle(f)
	}
	if err := f.hold(&r); err != nil {
		return r, err
	}
	if f.Reservation != nil { // renews the reservation's permits
		return f.renew(r)
	}
	if f.Atomic != nil && f.Charges == nil {
		return r, badField("atomic", "atomic without charges; accepted: with charges")
	}
	if f.Class != nil {
		r.Class = *f.Class
	}
	if f.Outcomes != nil {
		var err error
		if r.Outcomes, err = f.Outcomes.report(); err != nil {
			return r, err
		}
	}
	if f.Charges != nil {
		items, err := f.items()
		r.Items, r.Atomic = items, f.Atomic != nil && *f.Atomic
		return r, err
	}
	if err := f.check(); err != nil {
		return r, err
	}
	r.Key = *f.Key
	if f.Cost != nil {
		r.Cost, r.HasCost = *f.Cost, true
	}
	switch {
	case f.Policy != nil:
		r.Policy = *f.Policy
		return r, nil
	case f.Class != nil:
		return r, badField("class", "class with limit; accepted: with policy, which has the classes")
	}
	limits, err := f.Limit.Limits()
	if err != nil {
		return r, badLimit(err)
	}
	if r.Limit = limits[0]; len(limits) > 1 {
		r.Limits = limits
	}
	return r, nil
}
