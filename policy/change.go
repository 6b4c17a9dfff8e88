package policy

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/headgate/headgate/engine"
)

// Change replaces some fields of a policy of a file, or adds or replaces the override of
// a key. It has the fields of the file, and means the same.
type Change struct {
	// Policy is the name of the policy. If the file does not have it, and Key is "", the
	// change adds it.
	Policy string
	// Key is the key or pattern of an override; "" changes the policy itself.
	Key string
	// Fields is what changes, as JSON or YAML. For a policy: its fields, such as
	// {"rate": "50/s", "shadow": true}, or a limit as text, such as "50/s", which replaces
	// the limit. Another algorithm, deny, unlimited or all replaces the limit too. For a
	// key: set, deny or unlimited, as in overrides.
	Fields string
}

// MaxChangeBytes is the size of the largest [Change.Fields].
const MaxChangeBytes = 64 << 10

// String names what is changed.
func (c *Change) String() string {
	if c.Key == "" {
		return "policy " + quote(c.Policy)
	}
	return "policy " + quote(c.Policy) + ", key " + quote(c.Key)
}

// With returns the configuration with changes on top of the file. Those of one policy are
// put on one after another; of two of one key the later one counts. Where a change replaces
// the limit of a policy, the overrides of the file stay as they are: they set fields of the
// file's limit. A change that does not fit, to the file or to the changes before it, is left
// out, and reported with its index.
func (c *Config) With(changes []Change) (changed *Config, left map[int]error) {
	a := applier{config: c, left: map[int]error{}}
	all := make([]read, 0, len(changes))
	for i := range changes {
		r, err := changes[i].read()
		if err != nil {
			a.left[i] = err
			continue
		}
		r.index = i
		all = append(all, r)
	}
	a.add(all)
	if a.changed == nil {
		a.changed = c
	}
	return a.changed, a.left
}

// read is a change whose fields have been read.
type read struct {
	index    int
	policy   string
	body     *policyFields
	override *overrideFields
}

func (c *Change) read() (r read, err error) {
	switch {
	case engine.CheckPolicyName(c.Policy) != nil:
		return r, fmt.Errorf("policy name %s; accepted: 1 to 64 of A-Z a-z 0-9 _ . -", quote(c.Policy))
	case len(c.Key) > engine.MaxKeyBytes:
		return r, invalid("key", fmt.Sprint(len(c.Key), " bytes"), "a key of 1 to 1024 bytes, or a pattern with *")
	case len(c.Fields) > MaxChangeBytes:
		return r, invalid("fields", fmt.Sprint(len(c.Fields), " bytes"), "up to 64 KiB")
	}
	r.policy = c.Policy
	if c.Key == "" {
		r.body = new(policyFields)
		return r, readFields(c.Fields, r.body)
	}
	r.override = new(overrideFields)
	if text := strings.TrimSpace(c.Fields); !strings.HasPrefix(text, "{") {
		return r, errors.New("fields: " + text[:min(len(text), 128)] + `; accepted for a key: {"set": {"rate": "100/s"}}, {"deny": true} or {"unlimited": true}`)
	}
	if err := readFields(c.Fields, r.override); err != nil {
		return r, err
	}
	if r.override.Policy != nil || r.override.Key != nil {
		return r, errors.New("fields: policy and key are named beside the fields; accepted: set, deny, unlimited")
	}
	r.override.Policy, r.override.Key = &c.Policy, &c.Key
	return r, nil
}

func readFields(text string, to any) error {
	root, errs := readTree("fields", []byte(text), nil)
	if root != nil {
		d := decoder{report: func(at place, err error) { errs.add(errorAt("fields", at, messageOf(err))) }}
		d.decode(root, reflect.ValueOf(to).Elem(), nil)
	}
	if len(errs) > 0 {
		return errors.New("fields: " + errs[0].Message)
	}
	return nil
}

// applier adds changes to a configuration, and leaves out those that do not fit.
type applier struct {
	config   *Config
	accepted []read
	changed  *Config
	left     map[int]error
}

// add adds changes. If they do not fit together, it adds each half on its own, so that
// one change that does not fit costs a few builds, and not one for each change.
func (a *applier) add(changes []read) {
	if len(changes) == 0 {
		return
	}
	together := append(slices.Clip(a.accepted), changes...)
	changed, err := a.config.apply(together)
	switch {
	case err == nil:
		a.accepted, a.changed = together, changed
	case len(changes) == 1:
		a.left[changes[0].index] = err
	default:
		a.add(changes[:len(changes)/2])
		a.add(changes[len(changes)/2:])
	}
}

// apply builds the configuration with all changes on top, or returns the first error.
func (c *Config) apply(changes []read) (*Config, error) {
	f := *c.file
	f.Policies = maps.Clone(f.Policies)
	if f.Policies == nil {
		f.Policies = map[string]*policyFields{}
	}
	f.Overrides = slices.Clone(f.Overrides)
	type name struct{ policy, key string }
	at := map[name]int{}
	for i := range f.Overrides {
		if o := &f.Overrides[i]; o.Policy != nil && o.Key != nil {
			at[name{*o.Policy, *o.Key}] = i
		}
	}
	for _, r := range changes {
		if r.body != nil {
			f.changePolicy(r.policy, r.body)
			continue
		}
		n := name{r.policy, *r.override.Key}
		if i, known := at[n]; known {
			f.Overrides[i] = *r.override
			continue
		}
		at[n] = len(f.Overrides)
		f.Overrides = append(f.Overrides, *r.override)
	}
	var first error
	changed := f.config(c.pause, func(err error) {
		if first == nil {
			first = err
		}
	})
	if first != nil {
		return nil, first
	}
	return changed, nil
}

// changePolicy puts the fields of a change on top of those of a policy.
func (f *file) changePolicy(name string, change *policyFields) {
	before := f.Policies[name]
	if before == nil {
		f.Policies[name] = change
		return
	}
	if change.replacesLimit(before) {
		for i := range f.Overrides {
			if o := &f.Overrides[i]; o.Policy != nil && *o.Policy == name && o.on == nil {
				o.on = before.limit()
			}
		}
	}
	f.Policies[name] = before.with(change)
}

// replacesLimit reports whether a change replaces the limit of a policy, instead of some
// of its fields.
func (p *policyFields) replacesLimit(before *policyFields) bool {
	f := &p.LimitFields
	if p.text != "" || f.Deny != nil || f.Unlimited != nil || f.All != nil {
		return true
	}
	own, err := before.limit().fields()
	return f.Algorithm != nil && (err != nil || own.Algorithm == nil || *f.Algorithm != *own.Algorithm)
}

// with returns the fields of a policy with others on top.
func (p *policyFields) with(change *policyFields) *policyFields {
	merged := *p
	if change.replacesLimit(p) {
		merged.text, merged.LimitFields = change.text, change.LimitFields
	} else if own, err := p.limit().fields(); err == nil && change.firstSet() != "" {
		merged.text, merged.LimitFields = "", own
		merged.overlay(&change.LimitFields)
	}
	from, to := reflect.ValueOf(&change.policyBody).Elem(), reflect.ValueOf(&merged.policyBody).Elem()
	for i := range from.NumField() {
		if field := from.Field(i); field.Kind() == reflect.Pointer && !field.IsNil() {
			to.Field(i).Set(field)
		}
	}
	return &merged
}
