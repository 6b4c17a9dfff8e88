package envoy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/headgate/headgate/policy/yamlfile"
)

// Rule is the limit of a descriptor in the configuration.
type Rule struct {
	quota
	fullKey   string // domain.key_value.key…, as in the names of statistics
	policy    string // name of the rule's policy, or ""
	space     string // namespace of the rule's domain
	unlimited bool
	shadow    bool
	quotaMode bool
	detailed  bool
	replaces  []string
	metadata  *structpb.Struct
	classes   classes
	near      uint64
	stats     *ruleStats // nil if the rule is unlimited
}

// descriptor is one entry of a descriptor list.
type descriptor struct {
	rule *Rule  // nil if there is no rate_limit
	next *level // nil if there are no nested descriptors
	// pattern is a wildcard's value. It replaces the request's value in a shared key or in the name of a statistic.
	pattern       string
	shared        bool // share_threshold
	valueToMetric bool
}

// level is one list of descriptors.
type level struct {
	// exact maps key_value, or key if there is no value, to the descriptor.
	exact map[string]*descriptor
	wild  wildcards
}

// domain is a tree of descriptors.
type domain struct {
	name, space string
	level
	overrides *ruleStats
}

// builder builds the domains of a configuration.
type builder struct {
	config  *Config
	ratio   float32
	stats   func(fullKey string) *ruleStats
	count   int // number of descriptors
	limited int // number of rules with a limit
	found   found
	names   map[string]bool // names of policies in use
	space   string          // namespace of the domain being read
}

// MaxDescriptors is the maximum number of descriptors in a configuration.
const MaxDescriptors = 1_000_000

func (b *builder) level(into *level, parent string, descriptors []*yamlfile.Node) error {
	if into.exact == nil {
		into.exact = map[string]*descriptor{}
	}
	for _, d := range descriptors {
		n := (*node)(d)
		if n.Kind != yamlfile.Mapping {
			continue // the checker has reported the error
		}
		if b.count++; b.count > MaxDescriptors {
			return located(fmt.Errorf("error loading config file: more than %d descriptors", MaxDescriptors), n.At)
		}
		if err := b.descriptor(into, parent, n); err != nil {
			if !b.found.every {
				return err
			}
			if !b.found.add(err) {
				return nil
			}
		}
	}
	return nil
}

// descriptor adds a descriptor to a level. The checks are in envoyproxy/ratelimit's order, so that if there are several
// errors, the same one is reported.
func (b *builder) descriptor(into *level, parent string, n *node) error {
	f := fields{node: n}
	key, value := f.text("key"), f.text("value")
	d := &descriptor{shared: f.flag("share_threshold"), valueToMetric: f.flag("value_to_metric")}
	nested := f.list("descriptors", "key")
	if f.err != nil {
		return f.err
	}
	if key == "" {
		return located(errors.New("descriptor has empty key"), n.At)
	}
	composite := key
	if value != "" {
		composite += "_" + value
	}
	if into.exact[composite] != nil {
		return located(fmt.Errorf("duplicate descriptor composite key '%s'", parent+composite), n.At)
	}
	var err error
	if d.rule, err = b.rule(&f, parent+composite); err != nil {
		return err
	}
	if d.shared && !strings.Contains(composite, "*") {
		return located(fmt.Errorf("share_threshold can only be used with wildcard values (containing '*'), but found key '%s'", composite), n.At)
	}
	if strings.Contains(composite, "*") {
		d.pattern = strings.TrimPrefix(composite, key+"_")
		into.wild.add(composite, d)
	}
	into.exact[composite] = d
	if len(nested) == 0 {
		return nil
	}
	d.next = &level{}
	return b.level(d.next, parent+composite+".", nested)
}

// rule builds a descriptor's rule. It returns nil if the descriptor has no rate_limit.
func (b *builder) rule(d *fields, fullKey string) (*Rule, error) {
	r := &Rule{
		fullKey: fullKey, space: b.space, shadow: d.flag("shadow_mode"), quotaMode: d.flag("quota_mode"), detailed: d.flag("detailed_metric"),
	}
	metadata, err := d.metadata()
	if err != nil {
		return nil, err
	}
	r.metadata = metadata
	limit := d.child("rate_limit")
	if d.err != nil || limit == nil {
		return nil, d.err
	}
	f := fields{node: limit}
	s := settings{
		name: f.text("name"), algorithm: f.text("algorithm"), burst: f.count("burst", 1, 0),
		perUnit: f.count("requests_per_unit", 0, 0), multiplier: f.count("unit_multiplier", 1, 1),
		more: map[string]string{}, counter: b.hashedName(fullKey, ""),
	}
	for _, field := range limitKeys {
		if text := f.text(field); text != "" {
			s.more[field] = text
		}
	}
	r.unlimited = f.flag("unlimited")
	name := f.text("unit")
	replaces, classes := f.list("replaces", "name"), f.list("classes", "name")
	if f.err != nil {
		return nil, f.err
	}
	unit, known := parseUnit(name)
	s.unit = unit
	for _, field := range append([]string{"classes"}, limitKeys...) {
		if limit.get(field) != nil && (r.unlimited || s.perUnit == 0) {
			return nil, located(fmt.Errorf("%s of a rule that is unlimited or lets nothing through; accepted: %s with requests_per_unit of 1 or more", field, field), limit.At)
		}
	}
	if r.unlimited && known {
		return nil, located(errors.New("should not specify rate limit unit when unlimited"), limit.At)
	} else if !r.unlimited && !known {
		return nil, located(fmt.Errorf("invalid rate limit unit '%s'", name), limit.At)
	}
	if r.replaces, err = replaced(replaces, s.name); err != nil {
		return nil, err
	}
	if !r.unlimited {
		if r.quota, err = s.build(); err != nil {
			return nil, located(err, limit.At)
		}
		if err = r.classify(classes, limit); err != nil {
			return nil, err
		}
		r.near, r.stats, r.policy = r.quota.near(b.ratio), b.stats(fullKey), b.policyName(fullKey)
	}
	b.config.rules = append(b.config.rules, r)
	return r, nil
}

// replaced returns the names of the rules that a rule replaces.
func replaced(entries []*yamlfile.Node, own string) ([]string, error) {
	var names []string
	for _, e := range entries {
		f := fields{node: (*node)(e)}
		name := f.text("name")
		switch {
		case f.err != nil:
			return nil, f.err
		case name == "":
			return nil, located(errors.New("should not have an empty replaces entry"), e.At)
		case name == own:
			return nil, located(errors.New("replaces should not contain name of same descriptor"), e.At)
		}
		names = append(names, name)
	}
	return slices.Compact(names), nil
}
