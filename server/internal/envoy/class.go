package envoy

import (
	"fmt"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/yamlfile"
)

// classes holds a rule's classes in order. The zero value means no classes.
type classes struct {
	all []policy.Class
	// lowered contains the limit of each class, in the order of all. These limits apply if the rule's policy is not
	// active.
	lowered []engine.Limit
}

// limit returns the limit for a class. For an unknown class it returns the last class's limit, and without classes the
// argument limit.
func (c *classes) limit(name string, limit engine.Limit) engine.Limit {
	for i := range c.all {
		if limit = c.lowered[i]; c.all[i].Name == name {
			break
		}
	}
	return limit
}

// String returns the classes separated by commas, for the output of headgate check.
func (c *classes) String() string {
	texts := make([]string, len(c.all))
	for i := range c.all {
		texts[i] = c.all[i].String()
	}
	return strings.Join(texts, ", ")
}

// classify reads a rule's classes after its quota has been built. The node named of is the rule's rate_limit.
func (r *Rule) classify(entries []*yamlfile.Node, of *node) error {
	at := of.get("classes")
	if at == nil || at.Kind == yamlfile.Null {
		return nil
	}
	all := make([]policy.Class, 0, len(entries))
	for _, e := range entries {
		f := fields{node: (*node)(e)}
		class, leaves := policy.Class{Name: f.text("name"), Weight: int64(f.count("weight", 1, 0))}, f.text("leaves")
		if f.err != nil {
			return f.err
		}
		if leaves != "" {
			var err error
			if class.Leaves, err = engine.ParseLeave(leaves); err != nil {
				return located(fmt.Errorf("invalid class: %s", plain(err)), e.At)
			}
		}
		all = append(all, class)
	}
	lowered, err := policy.LowerFor(r.limit, all)
	if err != nil {
		return located(fmt.Errorf("invalid classes: %s", plain(err)), at.At)
	}
	r.classes = classes{all, lowered}
	return nil
}
