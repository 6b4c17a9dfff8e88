package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/yamlfile"
)

// Change replaces some fields of a policy in a file, or adds or replaces an override for a key. The fields are named
// and interpreted as in the file.
type Change struct {
	// Policy is the name of the policy. If the file contains no such policy and Key is "", the change adds it, and
	// Fields must be a whole limit. With a key, Policy can also name one limit of a policy, such as plan/day.
	Policy string
	// Key is the key or pattern of an override, or "" to change the policy itself.
	Key string
	// Fields are the new values, as JSON or YAML. For a policy, these are its fields, such as {"rate": "50/s",
	// "shadow": true}, or a limit as text, such as "50/s". What the fields or the text do not name stays, unless they name
	// another algorithm: they then replace the limit, as do deny, unlimited, all and first. A new limit without a name
	// keeps the old name. For a key, the fields are set, class, deny or unlimited, as in overrides, or a limit as text.
	Fields string
	// Ends is when the change ends, or zero if it lasts. A denial by the override then has a wait until that time.
	Ends time.Time
}

// MaxChangeBytes is the maximum size of [Change.Fields].
const MaxChangeBytes = 64 << 10

// String describes the policy or key to change.
func (c *Change) String() string {
	if c.Key == "" {
		return "policy " + engine.Quote(c.Policy)
	}
	return "policy " + engine.Quote(c.Policy) + ", key " + engine.Quote(c.Key)
}

// With applies changes to the file and returns the result. Changes to policies come first, in order. Changes to keys
// follow and set fields of the changed policies. If two changes are for the same key, the later change applies. If a
// change replaces a policy's limit, the file's overrides stay as they are, because they set fields of the file's limit.
// A change that conflicts with the file or with earlier changes is skipped, and left maps its index to the error.
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
	slices.SortStableFunc(all, func(x, y read) int { return cmp.Compare(x.rank(), y.rank()) })
	a.add(all)
	if a.changed == nil {
		a.changed = c
	}
	return a.changed, a.left
}

// read is a change with its parsed fields.
type read struct {
	index    int
	policy   string
	body     *policyFields
	override *overrideFields
}

// rank returns the sort key of a change, which puts changes to policies first.
func (r *read) rank() int {
	if r.body != nil {
		return 0
	}
	return 1
}

func (c *Change) read() (r read, err error) {
	switch {
	case !isTarget(c.Policy, c.Key != ""):
		return r, fmt.Errorf("policy name %s; accepted: 1 to 64 of A-Z a-z 0-9 _ . -; for a key also one limit of a policy with all, such as free/minute", engine.Quote(c.Policy))
	case len(c.Key) > engine.MaxKeyBytes:
		return r, invalid("key", fmt.Sprint(len(c.Key), " bytes"), "a key of 1 to 1024 bytes, or a pattern with *")
	case len(c.Fields) > MaxChangeBytes:
		return r, invalid("fields", fmt.Sprint(len(c.Fields), " bytes"), "up to 64 KiB")
	}
	if strings.TrimSpace(c.Fields) == "" {
		return r, errEmptyChange
	}
	r.policy = c.Policy
	if c.Key == "" {
		r.body = new(policyFields)
		if err := readFields(c.Fields, r.body); err != nil {
			return r, err
		}
		return r, r.body.checkChange()
	}
	r.override = new(overrideFields)
	if err := r.override.read(c.Fields); err != nil {
		return r, err
	}
	if !c.Ends.IsZero() {
		r.override.ends = c.Ends.UnixMicro()
	}
	if r.override.Policy != nil || r.override.Key != nil {
		return r, errors.New("fields: policy and key are named beside the fields; accepted: set, deny, unlimited")
	}
	r.override.Policy, r.override.Key = &c.Policy, &c.Key
	return r, nil
}

// isTarget reports whether text is a valid name of a policy or, for a change to a key, of one limit of a policy.
func isTarget(text string, ofKey bool) bool {
	name, inner, ofLimit := strings.Cut(text, "/")
	return engine.CheckPolicyName(name) == nil && (!ofLimit || ofKey && engine.CheckPolicyName(inner) == nil)
}

// read reads the fields of a change to a key. They are an object or, as text, a limit, deny or unlimited.
func (o *overrideFields) read(fields string) error {
	if strings.HasPrefix(strings.TrimSpace(fields), "{") {
		return readFields(fields, o)
	}
	var limit policyFields
	if err := readFields(fields, &limit); err != nil {
		return err
	}
	switch a, _ := engine.ParseAlgorithm(limit.text); {
	case limit.text == "":
		return errors.New(`fields: not set; accepted for a key: a limit as text such as "100/s", {"set": {"rate": "100/s"}}, {"deny": true} or {"unlimited": true}`)
	case a.DeniesAll():
		o.Deny = new(true)
	case a.AllowsAll():
		o.Unlimited = new(true)
	default:
		o.text = limit.text
	}
	return nil
}

// checkChange returns an error for a change that sets no field of the policy, and for a name without an algorithm.
func (p *policyFields) checkChange() error {
	if name, ok := p.word("name"); ok && !p.has("algorithm") {
		return invalid("name", engine.Quote(name), "a name only with algorithm: keys are counted under it")
	}
	if p.replacesLimit() || p.firstSet() != "" || len(p.Settings) > 0 {
		return nil
	}
	return errEmptyChange
}

var errEmptyChange = invalid("fields", "empty", `at least one field, such as {"rate":"50/s"}; for a policy also a limit as text`)

func readFields(text string, to any) error {
	root, errs := readTree("fields", []byte(text), nil)
	if root != nil {
		decoder("fields", &errs).Decode(root, to)
	}
	switch {
	case root == nil && len(errs) == 0:
		return errEmptyChange
	case len(errs) > 0:
		return errors.New("fields: " + errs[0].Message)
	}
	return nil
}

// applier applies changes to a configuration, and skips those that conflict.
type applier struct {
	config   *Config
	accepted []read
	changed  *Config
	left     map[int]error
}

// add applies changes. If they conflict, it tries each half separately. One bad change then costs only a few builds,
// not one build per change.
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

// apply returns a configuration with all changes, or the first error if any change cannot be applied.
func (c *Config) apply(changes []read) (*Config, error) {
	f := *c.file
	f.Policies = maps.Clone(f.Policies)
	if f.Policies == nil {
		f.Policies = map[string]*policyFields{}
	}
	f.Overrides = slices.Clone(f.Overrides)
	files := len(f.Overrides)
	type name struct{ policy, key string }
	at := map[name]int{}
	for i := range f.Overrides {
		if o := &f.Overrides[i]; o.Policy != nil && o.Key != nil {
			at[name{c.Policies.OverrideTarget(*o.Policy), *o.Key}] = i
		}
	}
	for _, r := range changes {
		if r.body != nil {
			if err := f.changePolicy(r.policy, r.body); err != nil {
				return nil, err
			}
			continue
		}
		n := name{c.Policies.OverrideTarget(r.policy), *r.override.Key}
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
			first = f.named(err, files)
		}
	})
	if first != nil {
		return nil, first
	}
	return changed, nil
}

// named adds the policy and key to an error about one of the file's overrides, because the change that caused the error
// does not always mention them.
func (f *file) named(err error, overrides int) error {
	var at *fieldError
	if !errors.As(err, &at) || len(at.path) < 2 || at.path[0] != "overrides" {
		return err
	}
	i, _ := strconv.Atoi(at.path[1])
	if o := &f.Overrides[i]; i < overrides && o.Policy != nil && o.Key != nil {
		change := Change{Policy: *o.Policy, Key: *o.Key}
		return fmt.Errorf("the override of %s does not fit: %w", change.String(), err)
	}
	return err
}

// changePolicy applies a change to a policy's fields.
func (f *file) changePolicy(name string, change *policyFields) error {
	before := f.Policies[name]
	switch {
	case before == nil && !change.replacesLimit():
		return invalidMeant("policy", name, yamlfile.Nearest(name, sortedKeys(f.Policies)), "a policy of the file; or a whole limit for a new one")
	case before == nil:
		f.Policies[name] = change
		return nil
	}
	change, err := change.on(before)
	if err != nil {
		return err
	}
	if change.replacesLimit() {
		for i := range f.Overrides {
			if o := &f.Overrides[i]; o.Policy != nil && *o.Policy == name && o.on == nil {
				o.on = before.limit()
			}
		}
	}
	f.Policies[name] = before.with(change)
	return nil
}

// on returns the change with the fields that its text names, if the policy keeps its algorithm: what a change does not
// name stays. A burst of 10 would otherwise become 30 with the rate 30/1m.
func (p *policyFields) on(before *policyFields) (*policyFields, error) {
	own, err := before.limit().fields()
	if p.text == "" || err != nil {
		return p, nil //nolint:nilerr // the file was read, so its limit is a policy's name or a list
	}
	named, ok, err := own.textOn(p.text)
	if !ok || err != nil {
		return p, err
	}
	merged := *p
	merged.text, merged.LimitFields = "", named
	return &merged, nil
}

// replacesLimit reports whether a change replaces the policy's limit instead of some of its fields.
func (p *policyFields) replacesLimit() bool {
	f := &p.LimitFields
	return p.text != "" || slices.ContainsFunc([]string{"algorithm", "deny", "unlimited", "all", "first"}, f.has)
}

// with returns a copy of the policy's fields with the change applied.
func (p *policyFields) with(change *policyFields) *policyFields {
	merged := *p
	own, err := p.limit().fields()
	switch {
	case change.replacesLimit():
		merged.text, merged.LimitFields = change.text, change.LimitFields
		merged.keepName(own.Values.get("name"))
	case err == nil && change.firstSet() != "":
		merged.text, merged.LimitFields = "", own
		merged.overlay(&change.LimitFields)
	}
	merged.Settings = settingValues{}
	maps.Copy(merged.Settings, p.Settings)
	maps.Copy(merged.Settings, change.Settings)
	return &merged
}

// keepName gives an unnamed limit the name of the limit that it replaces, because that name is part of the counter's
// name. A nil name is none.
func (p *policyFields) keepName(name any) {
	own, err := p.limit().fields()
	if name != nil && err == nil && own.has("algorithm") && !own.has("name") {
		own.Values.set("name", name)
		p.text, p.LimitFields = "", own
	}
}
