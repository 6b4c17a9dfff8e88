package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/jsontext"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/service"
)

// body is the body of a call: the fields of one request, or a batch in requests.
type body struct {
	requestFields

	Requests *[]json.RawMessage `json:"requests"`
}

// requestNames are the names of requestFields.
var requestNames = []string{"policy", "key", "cost", "limit", "max_delay_ms", "id", "reservation", "actual"}

type requestFields struct {
	Policy *string           `json:"policy"`
	Key    *string           `json:"key"`
	Cost   *int64            `json:"cost"`
	Limit  *policy.LimitSpec `json:"limit"`

	MaxDelay    *int64  `json:"max_delay_ms"`
	ID          *string `json:"id"`
	Reservation *string `json:"reservation"`
	Actual      *int64  `json:"actual"`
}

// call is a decoded body. In a batch, errs has an entry for each request: the error of one that could not be
// read, and nil for those in requests.
type call struct {
	requests []decide.Request
	errs     []error
	batch    bool
}

// decode reads a body. limits is the error of a body with limits of its own; nil lets it have them.
func decode(w http.ResponseWriter, r *http.Request, v *verb, limits error) (call, error) {
	data, scanned, err := readBody(w, r, limits)
	if err != nil {
		return call{}, err
	}
	if fields, ok := plainFields(data); ok {
		request, err := fields.request(v)
		return call{requests: []decide.Request{request}}, err
	}
	if !scanned {
		if err := refusal(newScanner(limits).Write(data)); err != nil {
			return call{}, err
		}
	}
	if err := jsontext.Check(data); err != nil {
		return call{}, badField("", "body: "+err.Error())
	}
	var b body
	if err := decodeStrict("body", data, &b); err != nil {
		return call{}, v.accepting(err, data, "requests")
	}
	if name, found := jsontext.Twice(data); found {
		return call{}, badField(name, name+" stands twice in one object; accepted: each name once")
	}
	if b.Requests == nil {
		request, err := b.request(v)
		return call{requests: []decide.Request{request}}, err
	}
	if b.requestFields != (requestFields{}) {
		return call{}, badField("requests", "requests stands alone: the other fields belong inside it")
	}
	if len(*b.Requests) < 1 || len(*b.Requests) > engine.MaxOps {
		return call{}, badField("requests", batchAccepted)
	}
	for i, raw := range *b.Requests {
		if raw[0] != '{' {
			return call{}, badField("requests", "requests."+strconv.Itoa(i)+" is no JSON object; accepted: objects")
		}
	}
	c := call{batch: true, errs: make([]error, len(*b.Requests))}
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

// fieldsOf reads one request of a batch, which is valid JSON.
func (v *verb) fieldsOf(raw []byte) (f requestFields, err error) {
	if f, ok := plainFields(raw); ok {
		return f, nil
	}
	if name, found := jsontext.Unknown(raw, requestNames); found {
		return f, v.unknown(name)
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, jsonError("request", err)
	}
	return f, nil
}

// decodeStrict reads the only JSON value of data into v and rejects unknown fields. name
// stands for the value in error messages: body or request.
func decodeStrict(name string, data []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return jsonError(name, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return badField("", name+" must be one JSON object with nothing after it")
	}
	return nil
}

// unknownField begins the error of a field that is not known; its name in quotes follows.
const unknownField = "unknown field "

// jsonError converts an error of encoding/json: it names fields as the client wrote them
// and says what is accepted.
func jsonError(name string, err error) error {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	var input *headgate.InputError
	switch {
	case errors.As(err, &mismatch):
		field := strings.TrimPrefix(mismatch.Field, "requestFields.")
		if field != "" {
			name = field
		}
		return badField(field, fmt.Sprintf("%s must not be a JSON %s; accepted: %s", name, mismatch.Value, accepted(mismatch)))
	case errors.As(err, &input):
		return badField(input.Field, input.Error())
	case errors.As(err, &syntax):
		return badField("", name+" is not JSON: "+syntax.Error()+" at byte "+strconv.FormatInt(syntax.Offset, 10))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return badField("", name+" is not JSON: it ends too early")
	default:
		text := strings.TrimPrefix(err.Error(), "json: ")
		field, _ := strconv.Unquote(strings.TrimPrefix(text, unknownField))
		return badField(field, text)
	}
}

// accepted returns the JSON name of what a field takes.
func accepted(mismatch *json.UnmarshalTypeError) string {
	switch mismatch.Type.Kind() {
	case reflect.String:
		return "string"
	case reflect.Int64:
		if number, ok := strings.CutPrefix(mismatch.Value, "number "); ok && !strings.ContainsAny(number, ".eE") {
			return "whole number up to 9223372036854775807"
		}
		return "whole number"
	case reflect.Slice:
		return "array"
	case reflect.Bool:
		return "true or false"
	default:
		return "object"
	}
}

// badField returns the error for a field, or for the whole body where field is "".
func badField(field, detail string) error {
	return &service.Error{Code: service.Invalid, Field: field, Err: errors.New(detail)}
}

// request checks the fields of one request and converts them.
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
	switch {
	case f.Key == nil:
		return r, badField("key", "key is not set; accepted: 1 to 1024 bytes")
	case f.Policy == nil && f.Limit == nil:
		return r, badField("policy", "policy is not set; accepted: the name of a policy, or limit instead")
	case f.Policy != nil && f.Limit != nil:
		return r, badField("limit", "limit beside policy; accepted: one of them")
	case f.Policy != nil && *f.Policy == "":
		return r, badField("policy", "policy is empty; accepted: the name of a policy")
	}
	r.Key = *f.Key
	if f.Cost != nil {
		if *f.Cost < 0 {
			return r, badField("cost", "cost is "+strconv.FormatInt(*f.Cost, 10)+"; accepted: a whole number, 0 or more")
		}
		r.Cost, r.HasCost = *f.Cost, true
	}
	if f.Policy != nil {
		r.Policy = *f.Policy
		return r, nil
	}
	limits, err := f.Limit.Limits()
	if err != nil {
		field, detail := policy.Explain("limit", err)
		return r, &service.Error{Code: service.WrongVerb, Field: field, Err: errors.New(detail)}
	}
	if r.Limit = limits[0]; len(limits) > 1 {
		r.Limits = limits
	}
	return r, nil
}
