package route

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit/wire"
)

// Source is the source of a key part.
type Source uint8

// The sources.
const (
	FromConst Source = iota
	FromPath
	FromHeader
	FromCookie
	FromQuery
	FromClient
	FromJWT
	FromBearer
)

var sourceNames = [...]string{"const", "path", "header", "cookie", "query", "client_ip", "jwt", "bearer"}

// String returns the source's name in a file.
func (s Source) String() string { return sourceNames[s] }

// Part is one part of a key.
type Part struct {
	From Source
	// Name is the name of the segment, header, cookie or field. For a const, it is the text.
	Name string
	// Claim is the claim to read from the token in the header called Name.
	Claim string
	// V6Prefix is the prefix length of the IPv6 networks that count as one client.
	V6Prefix int
	// Lower converts the value to lower case, and Trim removes white space around it.
	Lower, Trim bool
}

// String returns a description of the part, such as "header X-Email, lower, trim".
func (p *Part) String() string {
	text := p.source()
	if p.Lower {
		text += ", lower"
	}
	if p.Trim {
		text += ", trim"
	}
	return text
}

func (p *Part) source() string {
	switch p.From {
	case FromBearer:
		return "bearer"
	case FromClient:
		return "client_ip/" + strconv.Itoa(p.V6Prefix)
	case FromJWT:
		return "jwt " + p.Name + " " + p.Claim
	default:
		return p.From.String() + " " + p.Name
	}
}

// value returns the part's value, or "" if the request has none. readable is false if the request contains, or may
// contain, a value that cannot be read. Several headers, cookies or fields with the same name cannot be read if their
// values differ.
func (p *Part) value(v *view, path *Path) (text string, readable bool) {
	text, readable = p.read(v, path)
	text = p.changed(text)
	return text, readable && (p.From == FromConst || !hasControl(text))
}

// changed returns a value without white space around it and in lower case, if the part says so.
func (p *Part) changed(text string) string {
	if p.Trim {
		text = strings.TrimSpace(text)
	}
	if p.Lower {
		text = strings.ToLower(text)
	}
	return text
}

// hasControl reports whether a text has a character that no honest key has. Some servers read ann%00x as ann.
func hasControl(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == 0x7f {
			return true
		}
	}
	return false
}

// read returns the value as the request has it.
func (p *Part) read(v *view, path *Path) (text string, readable bool) {
	switch p.From {
	case FromPath:
		return segmentAt(v.path, path.place(p.Name)), true
	case FromHeader:
		if strings.EqualFold(p.Name, "Host") { // net/http stores it separately
			return v.host, true
		}
		if text, readable = v.header(p.Name); readable && strings.EqualFold(p.Name, "Authorization") {
			return core.Authorization(text)
		}
		return text, readable
	case FromCookie:
		return v.cookie(p.Name)
	case FromQuery:
		return v.field(p.Name)
	case FromClient:
		return cmp.Or(core.ClientKey(v.clientAddress(), p.V6Prefix), v.PeerName), true
	case FromJWT:
		if text, readable = v.header(p.Name); !readable {
			return "", false
		}
		return claim(text, p.Claim)
	case FromBearer:
		if text, readable = v.header(p.Name); !readable {
			return "", false
		}
		return credential(text)
	default:
		return p.Name, true
	}
}

// items returns the charges of a request. If a part of a key is unreadable or missing, lack names it: an unreadable
// part if there is one, or else the first missing one. Otherwise lack is nil.
func (r *Route) items(v *view) (items []Item, lack *wire.NoKeyError) {
	items = make([]Item, len(r.Charges))
	for i := range r.Charges {
		var memory [MaxParts]string
		values, without := r.values(i, memory[:0], v)
		if lack == nil || without != nil && without.Unreadable {
			lack = cmp.Or(without, lack)
		}
		items[i].Key = join(values)
		items[i].Cost, items[i].HasCost = r.Charges[i].Cost.of(v)
	}
	if lack != nil {
		return nil, lack
	}
	return items, nil
}

// values appends the values of the parts of a charge's key. lack is the same as in items.
func (r *Route) values(charge int, values []string, v *view) (_ []string, lack *wire.NoKeyError) {
	c := &r.Charges[charge]
	for i := range c.Key {
		part := &c.Key[i]
		text, readable := part.value(v, &r.Match.Path)
		values = append(values, text)
		if readable && (text != "" || lack != nil) {
			continue
		}
		lack = &wire.NoKeyError{Part: part.String(), Unreadable: !readable, Status: http.StatusBadRequest}
		if readable {
			lack.Status = cmp.Or(r.EmptyKeyStatus, lack.Status)
		}
		if len(r.Charges) > 1 && len(c.Policies) > 0 {
			lack.Policy = c.Policies[0]
		}
	}
	return values, lack
}

// join joins the parts into one key. Different parts result in different keys. If the key would be too long, its long
// parts are replaced by their hashes, and the others stay: an override for acme:* and the group of a nested share apply
// however long the user's name is (regression: bug 235). A part that looks like a hash is replaced too, as in
// [core.Shortened].
func join(values []string) string {
	key := core.Key(values...)
	hashed := func(part string) bool { return strings.HasPrefix(part, core.HashPrefix) }
	if long := len(key) > engine.MaxKeyBytes; len(values) > 1 && (long || slices.ContainsFunc(values, hashed)) {
		parts := slices.Clone(values)
		for i, part := range parts {
			if hashed(part) || long && len(core.Key(part, "")) > maxPart {
				parts[i] = core.Hash(part)
			}
		}
		key = core.Key(parts...)
	}
	return core.Shortened(key)
}

// maxPart is the maximum length of a part, with its colon, that every key has room for.
const maxPart = engine.MaxKeyBytes / MaxParts
