package envoy

import (
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"

	"github.com/headgate/headgate/policy/keyhash"
)

// match is the rule that applies to one descriptor of a request.
type match struct {
	rule  *Rule   // nil if no rule applies
	quota *quota  // from the rule or the request's override; nil if nothing is counted
	stats *series // the rule's series; nil if nothing is counted
	near  uint64
	named bool // a value is part of the name of the rule's series
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
	path := b.path[:0]
	for i, e := range entries {
		if at == nil {
			return m // deeper than the configuration
		}
		next, by := at.find(e, b)
		if next == nil {
			return m
		}
		value := e.Value
		if by == wild && next.shared {
			value = next.pattern
		}
		key.entry(e.Key, value)
		m.named = m.named || next.valueToMetric
		path = append(path, step{next, by})
		if i == len(entries)-1 && next.rule != nil {
			m.rule = next.rule
		}
		at = next.next
	}
	b.path = path
	r := m.rule
	if r == nil || r.unlimited {
		return m
	}
	b.keys = key.end()
	m.from, m.to, m.quota, m.near = key.from, len(b.keys), &r.quota, r.near
	return m
}

// setStats sets the series of a match for the entries that find has just matched.
func (m *match) setStats(d *domain, entries []*ratelimit.RateLimitDescriptor_Entry, b *buffers) {
	switch r := m.rule; {
	case m.quota == nil:
	case r.detailed:
		b.name = detailedName(b.name[:0], d.name, entries, b.path, b.secrets)
		m.stats = r.stats.named(b.name)
	case m.named:
		b.name = valueName(b.name[:0], d.name, entries, b.path, b.secrets)
		m.stats = r.stats.named(b.name)
	default:
		m.stats = &r.stats.total
	}
}

// step is a matched level.
type step struct {
	*descriptor
	by matchKind
}

// matchKind describes what matched the entry: a descriptor's key alone, its exact value, or a wildcard pattern.
type matchKind uint8

const (
	byKey matchKind = iota
	exact
	wild
)

// sharedPattern reports whether all values of the step share one counter.
func (s *step) sharedPattern() bool { return s.by == wild && s.shared }

// hidden returns the secrets for hashing the step's value. It returns nil if the value comes from the configuration.
func (s *step) hidden(secrets *keyhash.Secrets) *keyhash.Secrets {
	if s.by == exact {
		return nil
	}
	return secrets
}

// find returns the descriptor for an entry. It returns nil if none exists.
func (l *level) find(e *ratelimit.RateLimitDescriptor_Entry, b *buffers) (*descriptor, matchKind) {
	b.text = append(b.text[:0], e.Key...)
	b.text = append(b.text, '_')
	b.text = append(b.text, e.Value...)
	text := b.text
	if d := l.exact[string(text)]; d != nil {
		return d, exact
	}
	if l.wild.count > 0 {
		if d := l.wild.find(text); d != nil {
			return d, wild
		}
	}
	return l.exact[e.Key], byKey
}

// detailedName appends the name of the statistic for a rule with detailed_metric: every key and value of the request.
// The pattern replaces values that share a threshold.
func detailedName(to []byte, domain string, entries []*ratelimit.RateLimitDescriptor_Entry, path []step, secrets *keyhash.Secrets) []byte {
	shared := false
	for i := range path {
		shared = shared || path[i].sharedPattern()
	}
	to = append(to, domain...)
	for i, e := range entries {
		to = append(append(to, '.'), e.Key...)
		switch {
		case path[i].sharedPattern():
			to = append(append(to, '_'), path[i].pattern...)
		case e.Value != "" || !shared:
			to = appendValue(append(to, '_'), e.Value, path[i].hidden(secrets))
		}
	}
	return to
}

// valueName appends the name of the statistic for a rule with value_to_metric at one of its levels. The name
// contains the domain, and each level's key and value. The value of a level with value_to_metric is the request's
// value, or the pattern if the level matched as a wildcard with share_threshold. The value of any other level is
// its configured value or pattern, if it has one.
func valueName(to []byte, domain string, entries []*ratelimit.RateLimitDescriptor_Entry, path []step, secrets *keyhash.Secrets) []byte {
	to = append(to, domain...)
	for i, e := range entries {
		s := &path[i]
		to = append(append(to, '.'), e.Key...)
		switch {
		case s.by == wild && (s.shared || !s.valueToMetric):
			to = append(append(to, '_'), s.pattern...)
		case e.Value != "" && (s.by != byKey || s.valueToMetric):
			to = appendValue(append(to, '_'), e.Value, s.hidden(secrets))
		}
	}
	return to
}
