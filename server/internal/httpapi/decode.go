package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/jsontext"
	"github.com/headgate/headgate/policy/yamlfile"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/verbs"
)

// object holds the values of a JSON object by field, and then its batch. A value that is missing or null is nil.
type object [batch + 1][]byte

// batch is the index of the requests of a batch in an object.
const batch = verbs.Count

// members lists the names of an object's members by index.
var members = append(verbs.Set(1<<verbs.Count-1).Names(), "requests")

func (o *object) fields() (s verbs.Set) {
	for f, value := range o[:batch] {
		if value != nil {
			s |= 1 << f
		}
	}
	return s
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
	o, ok := plain(data)
	if !ok {
		if !scanned {
			if err := refusal(newScanner(limits).Write(data)); err != nil {
				return decodedBody{}, err
			}
		}
		var value json.RawMessage
		if err := jsontext.Decode("body", data, &value); err != nil {
			return decodedBody{}, badValue("", "body", err)
		}
		if err := o.read("body", value, members, v.names, "requests"); err != nil {
			return decodedBody{}, err
		}
	}
	if o[batch] != nil {
		return v.decodeBatch(&o)
	}
	c := decodedBody{requests: make([]decide.Request, 1)}
	return c, v.request(&o, &c.requests[0])
}

// decodeBatch parses the requests of a batch.
func (v *verb) decodeBatch(o *object) (decodedBody, error) {
	requests, err := decodeField[[]json.RawMessage]("requests", o[batch])
	if err != nil {
		return decodedBody{}, err
	}
	if o.fields() != 0 {
		return decodedBody{}, badField("requests", "requests must be the only field: the others belong inside it")
	}
	if len(requests) < 1 || len(requests) > engine.MaxOps {
		return decodedBody{}, badField("requests", batchAccepted)
	}
	for i, value := range requests {
		if value[0] != '{' {
			return decodedBody{}, badField("requests", "requests."+strconv.Itoa(i)+" is no JSON object; accepted: objects")
		}
	}
	c := decodedBody{batch: true, errs: make([]error, len(requests)), requests: make([]decide.Request, 0, len(requests))}
	for i, value := range requests {
		c.requests = append(c.requests, decide.Request{})
		last := len(c.requests) - 1
		if c.errs[i] = v.decodeRequest(value, &c.requests[last]); c.errs[i] != nil {
			c.requests = c.requests[:last]
		}
	}
	return c, nil
}

// decodeRequest parses one request of a batch, which is valid JSON.
func (v *verb) decodeRequest(value []byte, r *decide.Request) error {
	o, ok := plain(value)
	if !ok {
		if err := o.read("request", value, members[:batch], v.names); err != nil {
			return err
		}
	}
	return v.request(&o, r)
}

// read sets the values of an object in valid JSON, whose members can have the known names. Messages refer to the object
// by name, and list the accepted names.
func (o *object) read(name string, data []byte, known, accepted []string, more ...string) error {
	err := jsontext.Members(data, known, func(name string, value []byte) error {
		if string(value) != "null" {
			o[slices.Index(members, name)] = value
		}
		return nil
	})
	if bad, ok := errors.AsType[*jsontext.Error](err); ok && bad.Unknown {
		return unknown(bad.Field, append(slices.Clip(accepted), more...))
	}
	if err != nil {
		return badValue("", name, err)
	}
	return nil
}

// request makes an empty request the one that an object describes.
func (v *verb) request(o *object, r *decide.Request) error {
	v.Begin(r)
	form := &v.Forms[0]
	if len(v.Forms) > 1 && o[v.Forms[1].Mark()] != nil {
		form = &v.Forms[1]
	}
	if others := o.fields() &^ form.Fields(); others != 0 {
		return v.misplaced(others.First(), form)
	}
	if err := o.fill(form, r, &r.Item); err != nil {
		return err
	}
	if o[verbs.Class] != nil && o[verbs.Limit] != nil {
		return badField("class", "class with limit; accepted: with policy, which has the classes")
	}
	return nil
}

// misplaced returns the error for a field that the verb does not have, or not in this form of a request.
func (v *verb) misplaced(f verbs.Field, form *verbs.Form) error {
	name := verbs.Rows[f].Name
	if !v.Fields().Has(f) {
		return unknown(name, v.names)
	}
	mark := verbs.Rows[v.Forms[1].Mark()].Name
	if form == &v.Forms[0] {
		return badField(name, name+" without "+mark+"; accepted: with "+mark)
	}
	accepted := "one of them"
	if form.Mark() == verbs.Charges {
		accepted = "these inside charges"
	}
	return badField(mark, mark+" with "+(v.Fields()&^form.Fields()).Or()+"; accepted: "+accepted)
}

// unknown returns the error for a field that is none of those accepted.
func unknown(name string, accepted []string) error {
	return badField(name, fmt.Sprintf("unknown field %.128q; %saccepted: %s", name, yamlfile.DidYouMean(name, accepted), strings.Join(accepted, ", ")))
}

// badValue returns the error for a value that encoding/json cannot decode. Messages refer to the value by name. Errors
// of fields inside the value stay as they are.
func badValue(field, name string, err error) error {
	if own, ok := errors.AsType[*service.Error](err); ok {
		return own
	}
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		mismatch.Field = strings.Trim(field+"."+mismatch.Field, ".")
	}
	bad := jsontext.ErrorOf(name, err)
	return badField(bad.Field, bad.Detail)
}

// badField returns the error for a field, or for the whole body if field is "".
func badField(field, detail string) error {
	return &service.Error{Code: service.Invalid, Field: field, Err: errors.New(detail)}
}
