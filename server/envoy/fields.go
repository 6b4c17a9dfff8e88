package envoy

import (
	"errors"
	"fmt"
	"strconv"
)

// validKeys are the keys that a file may have, at any level, as in envoyproxy/ratelimit.
// algorithm, burst and unit_multiplier are not in it: see [extraKeys].
var validKeys = map[string]bool{
	"domain": true, "key": true, "value": true, "descriptors": true, "rate_limit": true, "unit": true,
	"requests_per_unit": true, "unlimited": true, "shadow_mode": true, "quota_mode": true, "name": true, "replaces": true,
	"detailed_metric": true, "value_to_metric": true, "share_threshold": true, "metadata": true,
}

// extraKeys are the keys that Headgate adds, and unit_multiplier of Envoy's API.
var extraKeys = map[string]bool{"algorithm": true, "burst": true, "unit_multiplier": true}

// checker checks the keys of a whole file before its values are read.
type checker struct {
	nodes int
	found *found
}

// wrong keeps an error where every error is wanted, and otherwise returns it.
func (c *checker) wrong(err error) error {
	if c.found.every {
		c.found.add(err)
		return nil
	}
	return err
}

// check checks a mapping at a depth. Aliases can nest deeper than the text does.
func (c *checker) check(n *node, depth int) error {
	if depth > maxNesting {
		return located(fmt.Errorf("error loading config file: values nest more than %d deep", maxNesting), n.at)
	}
	for _, p := range n.pairs {
		if c.nodes++; c.nodes > maxNodes {
			return located(fmt.Errorf("error loading config file: more than %d values", maxNodes), p.key.at)
		}
		if p.key.kind != text {
			if err := c.wrong(located(fmt.Errorf("config error, key is not of type string: %s", p.key.shown()), p.key.at)); err != nil {
				return err
			}
			continue
		}
		if !validKeys[p.key.text] && !extraKeys[p.key.text] {
			if err := c.wrong(located(fmt.Errorf("config error, unknown key '%s'", p.key.text), p.key.at)); err != nil {
				return err
			}
			continue
		}
		if p.key.text == "metadata" {
			continue // any keys and values
		}
		if err := c.value(p.value, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) value(n *node, depth int) error {
	switch n.kind {
	case mapping:
		return c.check(n, depth)
	case list:
		for _, item := range n.items {
			if item.kind != mapping {
				if err := c.wrong(located(fmt.Errorf("config error, yaml file contains list of type other than map: %s", item.shown()), item.at)); err != nil {
					return err
				}
				continue
			}
			if err := c.check(item, depth); err != nil {
				return err
			}
		}
	case float:
		return c.wrong(located(errors.New("error checking config"), n.at))
	}
	return nil
}

// fields reads the fields of a mapping and keeps the first error.
type fields struct {
	*node
	err error
}

func (f *fields) fail(n *node, field, accepted string) {
	if f.err == nil {
		f.err = located(fmt.Errorf("error loading config file: %s is %s; accepted: %s", field, shownKind(n), accepted), n.at)
	}
}

func shownKind(n *node) string {
	if n.kind == mapping || n.kind == list {
		return kindNames[n.kind]
	}
	return strconv.Quote(n.shown())
}

// text returns the text of a scalar as written, and "" if the field is not set.
func (f *fields) text(field string) string {
	n := f.get(field)
	if n == nil || n.kind == null {
		return ""
	}
	if n.kind == mapping || n.kind == list {
		f.fail(n, field, "text")
		return ""
	}
	return n.text
}

// flag returns a boolean, and false if the field is not set.
func (f *fields) flag(field string) bool {
	n := f.get(field)
	if n == nil || n.kind == null {
		return false
	}
	if n.kind != boolean {
		f.fail(n, field, "true or false")
	}
	return truth[n.text]
}

// count returns a whole number, and absent if the field is not set.
func (f *fields) count(field string, lowest, absent uint32) uint32 {
	n := f.get(field)
	if n == nil || n.kind == null {
		return absent
	}
	value, err := strconv.ParseUint(n.text, 0, 32)
	if n.kind != integer || err != nil || uint32(value) < lowest {
		f.fail(n, field, fmt.Sprintf("a whole number from %d to 4294967295", lowest))
		return absent
	}
	return uint32(value)
}

// list returns the mappings of a list, and nil if the field is not set.
func (f *fields) list(field string) []*node {
	n := f.get(field)
	if n == nil || n.kind == null {
		return nil
	}
	if n.kind != list {
		f.fail(n, field, "a list")
	}
	return n.items
}

// child returns the mapping of a field, and nil if it is not set.
func (f *fields) child(field string) *node {
	n := f.get(field)
	if n == nil || n.kind == null {
		return nil
	}
	if n.kind != mapping {
		f.fail(n, field, "a mapping")
		return nil
	}
	return n
}
