package envoy

import (
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
)

// match is the rule that applies to one descriptor of a request.
type match struct {
	rule  *Rule  // nil if no rule applies
	quota *quota // from the rule or the request's override; nil if nothing is counted
	// from and to are the position of the counter's key in the buffer.
	from, to int
}

// find matches the entries of a descriptor, and appends the counter's key to the buffer.
//
// At each level the descriptor with exactly this key and value takes precedence, followed by the first matching
// wildcard, and then the descriptor with only the key. A rule applies only if the descriptor contains as many entries
// as the rule has levels.
func (d *domain) find(entries []*ratelimit.RateLimitDescriptor_Entry, b *buffers) (m match) {
	at := &d.level
	key := keyWriter{buffer: b.keys, from: len(b.keys)}
	for i, e := range entries {
		if at == nil {
			return m // deeper than the configuration
		}
		next, wild := at.find(e, b)
		if next == nil {
			return m
		}
		value := e.Value
		if wild && next.shared {
			value = next.pattern
		}
		key.entry(e.Key, value)
		if i == len(entries)-1 && next.rule != nil {
			m.rule = next.rule
		}
		at = next.next
	}
	r := m.rule
	if r == nil || r.unlimited {
		return m
	}
	b.keys = key.end()
	m.from, m.to, m.quota = key.from, len(b.keys), &r.quota
	return m
}

// find returns the descriptor for an entry, and whether a wildcard matched it. It returns nil if none exists.
func (l *level) find(e *ratelimit.RateLimitDescriptor_Entry, b *buffers) (d *descriptor, wild bool) {
	b.text = append(b.text[:0], e.Key...)
	b.text = append(b.text, '_')
	b.text = append(b.text, e.Value...)
	text := b.text
	if d := l.exact[string(text)]; d != nil {
		return d, false
	}
	if l.wild.count > 0 {
		if d := l.wild.find(text); d != nil {
			return d, true
		}
	}
	return l.exact[e.Key], false
}
