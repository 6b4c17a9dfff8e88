package policy

import (
	"errors"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/policy/yamlfile"
)

// part returns one part of a key. path is the route's path, whose segments a part can name.
func (k *keyFields) part(path *route.Path) (route.Part, error) {
	named := []struct {
		name string
		from route.Source
		text *string
	}{
		{"path", route.FromPath, k.Path},
		{"header", route.FromHeader, k.Header},
		{"cookie", route.FromCookie, k.Cookie},
		{"query", route.FromQuery, k.Query},
		{"const", route.FromConst, k.Const},
	}
	var part route.Part
	var err error
	given := 0
	for _, n := range named {
		if n.text != nil {
			given++
			part = route.Part{From: n.from, Name: *n.text}
			err = checkPart(n.name, *n.text, path)
		}
	}
	if k.ClientIP != nil {
		given++
		part = route.Part{From: route.FromClient, V6Prefix: 64}
		if bits := k.ClientIP.V6Prefix; bits != nil {
			if part.V6Prefix = int(*bits); *bits < 1 || *bits > 128 {
				err = atField(invalid("v6_prefix", strconv.FormatInt(*bits, 10), v6Accepted), "client_ip")
			}
		}
	}
	if k.JWT != nil {
		given++
		part, err = k.JWT.part()
	}
	if k.Bearer != nil {
		given++
		part = route.Part{From: route.FromBearer, Name: "Authorization"}
		if !*k.Bearer {
			err = invalid("bearer", "false", "true")
		}
	}
	if given != 1 {
		return part, errors.New("a part has " + strconv.Itoa(given) + " sources; accepted: " + partAccepted)
	}
	if err == nil {
		err = k.change(&part)
	}
	return part, err
}

// change sets how the part's value is changed.
func (k *keyFields) change(part *route.Part) error {
	part.Lower, part.Trim = k.Lower != nil && *k.Lower, k.Trim != nil && *k.Trim
	switch part.From {
	case route.FromConst, route.FromClient, route.FromBearer:
		const accepted = "not with const, client_ip or bearer"
		if k.Lower != nil {
			return invalid("lower", strconv.FormatBool(*k.Lower), accepted)
		}
		if k.Trim != nil {
			return invalid("trim", strconv.FormatBool(*k.Trim), accepted)
		}
	}
	return nil
}

// checkPart checks the name of a segment, header, cookie or field, or the text of a const.
func checkPart(field, name string, path *route.Path) error {
	switch {
	case name == "" || len(name) > 256:
		return invalid(field, strconv.Itoa(len(name))+" bytes", "1 to 256 bytes")
	case (field == "header" || field == "cookie") && !route.IsToken(name):
		return invalid(field, engine.Quote(name), "letters, digits and !#$%&'*+-.^_`|~")
	case field == "path" && !path.Has(name):
		return invalidMeant(field, name, yamlfile.Nearest(name, path.Names()), "the name of a segment of match.path, such as id of /v1/users/{id}")
	default:
		return nil
	}
}

func (j *jwtFields) part() (route.Part, error) {
	part := route.Part{From: route.FromJWT, Name: "Authorization"}
	if j.Header != nil {
		part.Name = *j.Header
	}
	if !route.IsToken(part.Name) {
		return part, atField(invalid("header", engine.Quote(part.Name), "the name of a header"), "jwt")
	}
	if j.Claim == nil || *j.Claim == "" || len(*j.Claim) > 256 {
		return part, atField(invalid("claim", "not set or too long", "the name of a claim, 1 to 256 bytes, such as sub"), "jwt")
	}
	part.Claim = *j.Claim
	return part, nil
}

func (c *costFields) cost() (route.Cost, error) {
	if c.number != nil {
		if n := *c.number; n < 0 || n > algo.MaxUnits {
			return route.Cost{}, invalid("cost", strconv.FormatInt(n, 10), costAccepted)
		}
		return route.Cost{Set: true, Units: *c.number}, nil
	}
	h := c.header
	switch {
	case h == nil:
		return route.Cost{}, nil
	case h.Header == nil || !route.IsToken(*h.Header):
		return route.Cost{}, atField(invalid("header", "not set or no name", "the name of a header"), "cost")
	case h.Max == nil:
		return route.Cost{}, atField(invalid("max", "not set", unitsAccepted), "cost")
	case *h.Max < 1 || *h.Max > algo.MaxUnits:
		return route.Cost{}, atField(invalid("max", strconv.FormatInt(*h.Max, 10), unitsAccepted), "cost")
	default:
		return route.Cost{Header: *h.Header, Max: *h.Max}, nil
	}
}
