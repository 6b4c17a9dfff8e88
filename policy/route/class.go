package route

import "strings"

// Class is the class of a route's requests. The zero value means no class.
type Class struct {
	// Name is the name of the class.
	Name string
	// Header is the header that names the class, or "". It is read only if a trusted proxy sent it.
	Header string
}

// of returns the request's class, or "".
func (c *Class) of(v *view) string {
	if c.Header == "" {
		return c.Name
	}
	if !v.table.proxies.Trusts(v.Peer) {
		return ""
	}
	text, _ := v.header(c.Header) // of several that differ, none counts
	return strings.TrimSpace(text)
}

// String returns a description of the class, or "" if requests have no class.
func (c *Class) String() string {
	if c.Header != "" {
		return "header " + c.Header
	}
	return c.Name
}
