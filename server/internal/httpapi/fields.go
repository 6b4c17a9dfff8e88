package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/jsontext"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/verbs"
)

// fill sets the fields of a form in a request, and in the item that the object describes.
func (o *object) fill(form *verbs.Form, r *decide.Request, item *decide.Item) error {
	fields := o.fields()
	for f := range fields.Each() {
		if err := set(r, item, f, o[f]); err != nil {
			return err
		}
	}
	switch missing := form.Needs &^ fields; {
	case missing&^byPolicy != 0:
		row := &verbs.Rows[(missing &^ byPolicy).First()]
		return badField(row.Name, row.Name+" is not set; accepted: "+row.Accepted)
	case missing != 0 && !fields.Has(verbs.Limit):
		return badField("policy", "policy is not set; accepted: the name of a policy, or limit instead")
	case fields.Has(verbs.Policy) && fields.Has(verbs.Limit):
		return badField("limit", "limit with policy; accepted: one of them")
	default:
		return nil
	}
}

// byPolicy is the field that an inline limit can replace.
const byPolicy = verbs.Set(1 << verbs.Policy)

// set sets one field from its value in valid JSON.
func set(r *decide.Request, item *decide.Item, f verbs.Field, value []byte) (err error) {
	row := &verbs.Rows[f]
	switch {
	case row.Text != nil:
		text, err := textOf(row, value)
		if err == nil {
			row.Text(r, item, text)
		}
		return err
	case row.Number != nil:
		n, err := numberOf(row, value)
		if err == nil {
			row.Number(r, item, n)
		}
		return err
	}
	switch f {
	case verbs.Limit:
		return setLimit(r, item, value)
	case verbs.Charges:
		return setCharges(r, value)
	case verbs.Actual:
		return setActual(r, value)
	case verbs.Outcomes:
		return setOutcomes(r, value)
	default:
		r.Atomic, err = decodeField[bool](row.Name, value)
		return err
	}
}

// decodeField decodes the value of a field with encoding/json.
func decodeField[T any](name string, value []byte) (v T, err error) {
	if err := json.Unmarshal(value, &v); err != nil {
		return v, badValue(name, name, err)
	}
	return v, nil
}

func textOf(row *verbs.Row, value []byte) (text string, err error) {
	if value[0] == '"' && bytes.IndexByte(value, '\\') < 0 {
		text = string(value[1 : len(value)-1])
	} else if text, err = decodeField[string](row.Name, value); err != nil {
		return "", err
	}
	switch n := int64(len(text)); {
	case n < row.Least:
		return "", badField(row.Name, row.Name+` is ""; accepted: `+row.Accepted)
	case n > row.Most:
		return "", badField(row.Name, row.Name+" is "+strconv.FormatInt(n, 10)+" bytes; accepted: "+row.Accepted)
	}
	return text, nil
}

func numberOf(row *verbs.Row, value []byte) (n int64, err error) {
	if n, err = strconv.ParseInt(string(value), 10, 64); err != nil {
		if n, err = decodeField[int64](row.Name, value); err != nil {
			return 0, err
		}
	}
	if n < row.Least || n > row.Most {
		return 0, badField(row.Name, row.Name+" is "+strconv.FormatInt(n, 10)+"; accepted: "+row.Range())
	}
	return n, nil
}

func setLimit(r *decide.Request, item *decide.Item, value []byte) error {
	spec, err := decodeField[policy.LimitSpec]("limit", value)
	if err != nil {
		return err
	}
	limits, err := spec.Limits()
	if err != nil {
		field, detail := policy.Explain("limit", err)
		return &service.Error{Code: service.WrongVerb, Field: field, Err: errors.New(detail)}
	}
	switch item.Limit = limits[0]; {
	case spec.All != nil && item != &r.Item:
		return badField("limit", "limit.all in a charge; accepted: one limit, and a charge for each")
	case len(limits) > 1:
		item.Limits = limits
	}
	return nil
}

const chargesAccepted = "charges: 1 to 32 in one request"

func setCharges(r *decide.Request, value []byte) error {
	charges, err := decodeField[[]json.RawMessage]("charges", value)
	if err != nil {
		return err
	}
	if len(charges) < 1 || len(charges) > engine.MaxCharges {
		return badField("charges", chargesAccepted)
	}
	r.Items = make([]decide.Item, len(charges))
	for i, value := range charges {
		if err := setCharge(r, &r.Items[i], value); err != nil {
			return service.OfCharge(i, err)
		}
	}
	return nil
}

// chargeNames lists the fields of a charge.
var chargeNames = verbs.Charge.Fields().Names()

func setCharge(r *decide.Request, item *decide.Item, value []byte) error {
	if value[0] != '{' {
		return badField("", "no JSON object; accepted: objects")
	}
	o, ok := plain(value)
	if !ok {
		if err := o.read("charge", value, chargeNames, chargeNames); err != nil {
			return err
		}
	}
	if others := o.fields() &^ verbs.Charge.Fields(); others != 0 {
		return unknown(verbs.Rows[others.First()].Name, chargeNames)
	}
	return o.fill(&verbs.Charge, r, item)
}

// setActual sets the units that a reservation used: one number for all charges, or a list with a number for each.
func setActual(r *decide.Request, value []byte) error {
	each := value[0] == '['
	if !each {
		value = slices.Concat([]byte("["), value, []byte("]"))
	}
	used, err := decodeField[[]int64]("actual", value)
	switch n := len(used); {
	case err != nil:
		return err
	case n < 1 || n > engine.MaxCharges:
		return badField("actual", "actual has "+strconv.Itoa(n)+" numbers; accepted: one for each charge, 1 to 32")
	}
	if i := slices.IndexFunc(used, func(n int64) bool { return n < 0 }); i >= 0 {
		err := badField("actual", "actual is "+strconv.FormatInt(used[i], 10)+"; accepted: a whole number, 0 or more")
		if each {
			err = service.OfCharge(i, err)
		}
		return err
	}
	verbs.Use(r, used, each)
	return nil
}

// reportNames lists the names of the numbers in a report.
var reportNames = func() (names []string) {
	for _, f := range algo.ReportFields {
		names = append(names, f.Name)
	}
	return names
}()

// setOutcomes sets the outcomes of earlier requests.
func setOutcomes(r *decide.Request, value []byte) error {
	var numbers [3]int64
	err := jsontext.Members(value, reportNames, func(name string, value []byte) (err error) {
		i := slices.Index(reportNames, name)
		if string(value) != "null" {
			numbers[i], err = numberOf(&verbs.Row{Name: "outcomes." + name, Most: algo.ReportFields[i].Most}, value)
		}
		return err
	})
	if bad, ok := errors.AsType[*jsontext.Error](err); ok && bad.Unknown {
		return unknown("outcomes."+bad.Field, reportNames)
	}
	if err != nil {
		return badValue("outcomes", "outcomes", err)
	}
	r.Outcomes = algo.ReportOf(numbers)
	return nil
}
