package policy

import (
	"reflect"

	"github.com/headgate/headgate/policy/yamlfile"
)

// ReadNode reads a policy, written as text such as "100/s", or as fields.
func (p *policyFields) ReadNode(d *yamlfile.Decoder, n *yamlfile.Node, path []string) bool {
	if n.Scalar() {
		p.text = n.Text
		return true
	}
	if n.Kind != yamlfile.Mapping {
		p.MarkBroken()
		return d.Mismatch(n, path, `a limit as text, such as "100/s", or its fields`)
	}
	return d.Decode(n, &p.policyBody, path...)
}

// ReadNode reads a limit, written as text or as fields.
func (s *LimitSpec) ReadNode(d *yamlfile.Decoder, n *yamlfile.Node, path []string) bool {
	if n.Scalar() {
		s.Text = n.Text
		return true
	}
	if n.Kind != yamlfile.Mapping {
		return d.Mismatch(n, path, `a limit as text, such as "100/s", its fields, or the name of a policy`)
	}
	return d.Decode(n, &s.LimitFields, path...)
}

// ReadNode reads true, false, a limit as text, or the fields of a limit.
func (s *shadowFields) ReadNode(d *yamlfile.Decoder, n *yamlfile.Node, path []string) bool {
	switch {
	case n.Kind == yamlfile.Truth:
		return d.Decode(n, &s.on, path...)
	case yamlfile.IsTruth(n):
		return d.NotTruth(n, path, "true, false, a limit as text, or the fields of a limit")
	case n.Kind == yamlfile.Mapping || n.Kind == yamlfile.Text:
		s.limit = &LimitSpec{}
		if !s.limit.ReadNode(d, n, path) {
			return false
		}
		if f := &s.limit.LimitFields; s.limit.Text == "" && f.firstSet() == "" && !f.has("deny") && !f.has("unlimited") {
			return d.Mismatch(n, path, "true, false, a limit as text, or the fields of a limit that differ")
		}
		return true
	default:
		return d.Mismatch(n, path, "true, false, a limit as text, or the fields of a limit")
	}
}

// ReadNode reads the name of a file.
func (f *fileName) ReadNode(d *yamlfile.Decoder, n *yamlfile.Node, path []string) bool {
	if !n.Scalar() || n.Text == "" {
		return d.Mismatch(n, path, "the name of a file")
	}
	*f = fileName(n.Text)
	return true
}

// ReadNode reads an upstream, written as a URL or as fields.
func (u *upstreamField) ReadNode(d *yamlfile.Decoder, n *yamlfile.Node, path []string) bool {
	if n.Kind == yamlfile.Mapping {
		u.broken = !d.Decode(n, &u.upstreamFields, path...)
	} else {
		u.broken = !d.Decode(n, &u.URL, path...)
	}
	return !u.broken
}

// ReadNode reads a number, or the name of the header that contains it.
func (c *costFields) ReadNode(d *yamlfile.Decoder, n *yamlfile.Node, path []string) bool {
	ok := false
	switch {
	case n.Whole():
		ok = d.Decode(n, &c.number, path...)
	case n.Kind == yamlfile.Mapping:
		ok = d.Decode(n, &c.header, path...)
	default:
		d.Mismatch(n, path, "a whole number, or header and max")
	}
	c.broken = !ok
	return ok
}

// ReadNode reads a class name, or the name of the header that contains it.
func (c *routeClass) ReadNode(d *yamlfile.Decoder, n *yamlfile.Node, path []string) bool {
	ok := false
	switch n.Kind {
	case yamlfile.Text:
		ok = d.Decode(n, &c.name, path...)
	case yamlfile.Mapping:
		ok = d.Decode(n, &c.header, path...)
	default:
		d.Mismatch(n, path, "the name of a class, or header")
	}
	c.broken = !ok
	return ok
}

// keyBody is keyFields without its ReadNode method.
type keyBody keyFields

// ReadNode reads a part of a key: fields, or the single word client_ip for the client's address with default settings.
func (k *keyFields) ReadNode(d *yamlfile.Decoder, n *yamlfile.Node, path []string) bool {
	switch {
	case n.Kind == yamlfile.Text && n.Text == "client_ip":
		k.ClientIP = &clientIPFields{}
		return true
	case n.Kind == yamlfile.Mapping:
		return d.Decode(n, (*keyBody)(k), path...)
	default:
		k.MarkBroken()
		return d.Mismatch(n, path, "client_ip, or a source with a name, such as {header: X-User}"+yamlfile.DidYouMeanField(n, reflect.TypeOf(*k)))
	}
}
