package policy

import "reflect"

// readNode reads a policy: a text such as "100/s", or fields.
func (p *policyFields) readNode(d *decoder, n *node, path []string) bool {
	if n.scalar() {
		p.text = n.text
		return true
	}
	if n.kind != mappingNode {
		p.markBroken()
		return d.mismatch(n, path, `a limit as text, such as "100/s", or its fields`)
	}
	return d.decode(n, reflect.ValueOf(&p.policyBody).Elem(), path)
}

// readNode reads a limit: a text, or fields.
func (s *LimitSpec) readNode(d *decoder, n *node, path []string) bool {
	if n.scalar() {
		s.Text = n.text
		return true
	}
	if n.kind != mappingNode {
		return d.mismatch(n, path, `a limit as text, such as "100/s", its fields, or the name of a policy`)
	}
	return d.decode(n, reflect.ValueOf(&s.LimitFields).Elem(), path)
}

// readNode reads true, false, a limit as text, or the fields of a limit.
func (s *shadowFields) readNode(d *decoder, n *node, path []string) bool {
	switch n.kind {
	case truthNode:
		return d.decode(n, reflect.ValueOf(&s.on).Elem(), path)
	case mappingNode, textNode:
		s.limit = &LimitSpec{}
		if !s.limit.readNode(d, n, path) {
			return false
		}
		if f := &s.limit.LimitFields; s.limit.Text == "" && f.firstSet() == "" && f.Deny == nil && f.Unlimited == nil {
			return d.mismatch(n, path, "true, false, a limit as text, or the fields of a limit that differ")
		}
		return true
	default:
		return d.mismatch(n, path, "true, false, a limit as text, or the fields of a limit")
	}
}

// readNode reads a URL.
func (u *upstreamField) readNode(d *decoder, n *node, path []string) bool {
	u.broken = !d.decode(n, reflect.ValueOf(&u.url).Elem(), path)
	return !u.broken
}

// readNode reads a number, or the header that has it.
func (c *costFields) readNode(d *decoder, n *node, path []string) bool {
	ok := false
	switch n.kind {
	case wholeNode:
		ok = d.decode(n, reflect.ValueOf(&c.number).Elem(), path)
	case mappingNode:
		ok = d.decode(n, reflect.ValueOf(&c.header).Elem(), path)
	default:
		d.mismatch(n, path, "a whole number, or header and max")
	}
	c.broken = !ok
	return ok
}

// readNode reads a part of a key: fields, or the word for the client without settings.
func (k *keyFields) readNode(d *decoder, n *node, path []string) bool {
	switch {
	case n.kind == textNode && n.text == "client_ip":
		k.ClientIP = &clientIPFields{}
		return true
	case n.kind == mappingNode:
		return d.decodeStruct(n, reflect.ValueOf(k).Elem(), path)
	default:
		k.markBroken()
		return d.mismatch(n, path, "client_ip, or a source with a name, such as {header: X-User}"+didYouMeanField(n, reflect.TypeOf(*k)))
	}
}
