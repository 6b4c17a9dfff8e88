package envoy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/yamlfile"
)

// validKeys lists the keys that a file may contain, at any level, as in envoyproxy/ratelimit. [extraKeys] lists further
// keys.
var validKeys = map[string]bool{
	"domain": true, "key": true, "value": true, "descriptors": true, "rate_limit": true, "unit": true,
	"requests_per_unit": true, "unlimited": true, "shadow_mode": true, "quota_mode": true, "name": true, "replaces": true,
	"detailed_metric": true, "value_to_metric": true, "share_threshold": true, "metadata": true,
}

// extraKeys lists the keys that Headgate adds, and unit_multiplier from Envoy's API.
var extraKeys = func() map[string]bool {
	keys := map[string]bool{"algorithm": true, "burst": true, "classes": true, "leaves": true, "weight": true, "unit_multiplier": true}
	for _, key := range limitKeys {
		keys[key] = true
	}
	return keys
}()

// limitKeys lists the fields of limits that a rule can have under rate_limit, by their names in policies. The other
// fields do not apply to Envoy: unit sets the windows, the algorithm determines whether denied hits count, and the
// keys of descriptors have no groups.
var limitKeys = func() (keys []string) {
	omitted := []string{"burst", "name", "windows", "align", "anchor", "lease", "count_denied", "next_pays", "nested"}
	for f := range engine.Fields() {
		if slices.ContainsFunc(rateAlgorithms, f.On) && !slices.Contains(omitted, f.Name) {
			keys = append(keys, f.Name)
		}
	}
	return keys
}()

// known contains the keys from both lists. Errors suggest the nearest one for an unknown key.
var known = slices.Sorted(func(yield func(string) bool) {
	for _, keys := range []map[string]bool{validKeys, extraKeys} {
		for key := range keys {
			if !yield(key) {
				return
			}
		}
	}
})

// checker checks all keys of a file before its values are read.
type checker struct{ found *found }

// wrong collects the error and returns nil if all errors are to be reported. Otherwise it returns the error.
func (c *checker) wrong(err error) error {
	if c.found.every {
		c.found.add(err)
		return nil
	}
	return err
}

// check checks the keys of a mapping and of the mappings inside it, except metadata.
func (c *checker) check(n *node) error {
	for _, p := range n.pairs() {
		key := (*node)(p.Key)
		if key.kind() != yamlfile.Text {
			if err := c.wrong(located(fmt.Errorf("config error, key is not of type string: %s", key.shown()), key.At)); err != nil {
				return err
			}
			continue
		}
		if !validKeys[key.Text] && !extraKeys[key.Text] {
			if err := c.wrong(located(fmt.Errorf("config error, unknown key '%s'%s", key.Text, yamlfile.Guess(key.Text, known)), key.At)); err != nil {
				return err
			}
			continue
		}
		if key.Text == "metadata" {
			continue // metadata can contain any keys and values
		}
		if err := c.value((*node)(p.Value)); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) value(n *node) error {
	switch n.Kind {
	case yamlfile.Mapping:
		return c.check(n)
	case yamlfile.List:
		for _, item := range n.Items {
			item := (*node)(item)
			if item.Kind != yamlfile.Mapping {
				if err := c.wrong(located(fmt.Errorf("config error, yaml file contains list of type other than map: %s", item.shown()), item.At)); err != nil {
					return err
				}
				continue
			}
			if err := c.check(item); err != nil {
				return err
			}
		}
	case yamlfile.Float:
		return c.wrong(located(errors.New("error checking config"), n.At))
	}
	return nil
}

// fields reads a mapping's fields and keeps the first error.
type fields struct {
	*node
	err error
}

func (f *fields) fail(n *node, field, accepted string) {
	if f.err == nil {
		f.err = located(fmt.Errorf("error loading config file: %s is %s; accepted: %s", field, shownKind(n), accepted), n.At)
	}
}

func shownKind(n *node) string {
	if n.Kind == yamlfile.Mapping || n.Kind == yamlfile.List {
		return n.Kind.String()
	}
	return strconv.Quote(n.shown())
}

// text returns a scalar's text as written. It returns "" if the field is not set.
func (f *fields) text(field string) string {
	n := f.get(field)
	if n == nil || n.Kind == yamlfile.Null {
		return ""
	}
	if n.Kind == yamlfile.Mapping || n.Kind == yamlfile.List {
		f.fail(n, field, "text")
		return ""
	}
	return n.Text
}

// flag returns a boolean. It returns false if the field is not set.
func (f *fields) flag(field string) bool {
	n := f.get(field)
	if n == nil || n.Kind == yamlfile.Null {
		return false
	}
	if n.kind() != yamlfile.Truth {
		f.fail(n, field, "true or false")
	}
	return truth[n.Text]
}

// count returns a whole number. If the field is not set, it returns the argument absent.
func (f *fields) count(field string, lowest, absent uint32) uint32 {
	n := f.get(field)
	if n == nil || n.Kind == yamlfile.Null {
		return absent
	}
	value, err := strconv.ParseUint(n.Text, 0, 32)
	if n.Kind != yamlfile.Integer || err != nil || uint32(value) < lowest {
		f.fail(n, field, fmt.Sprintf("a whole number from %d to 4294967295", lowest))
		return absent
	}
	return uint32(value)
}

// list returns the mappings in a list. It returns nil if the field is not set. For the error message, first is the
// name of the first field in such a mapping.
func (f *fields) list(field, first string) []*yamlfile.Node {
	n := f.get(field)
	if n == nil || n.Kind == yamlfile.Null {
		return nil
	}
	if n.Kind != yamlfile.List {
		f.fail(n, field, "a list such as [{"+first+": …}]")
	}
	return n.Items
}

// child returns a field's mapping. It returns nil if the field is not set.
func (f *fields) child(field string) *node {
	n := f.get(field)
	if n == nil || n.Kind == yamlfile.Null {
		return nil
	}
	if n.Kind != yamlfile.Mapping {
		f.fail(n, field, "a mapping")
		return nil
	}
	return n
}
