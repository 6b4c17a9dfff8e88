package policy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
)

// maxClasses is the maximum number of classes of one policy.
const maxClasses = 8

// Class is a class of requests under a policy. Leaves is the amount that the class leaves for the classes before it.
// Weight is the weight of the class's keys under a limit that divides its units among keys. If Weight is 0, the
// limit's own weight applies.
type Class struct {
	Name   string
	Leaves engine.Leave
	Weight int64
}

// String returns the class's name, followed by Leaves and Weight if they are set.
func (c *Class) String() string {
	text := c.Name
	if c.Leaves != (engine.Leave{}) {
		text += " leaves " + c.Leaves.String()
	}
	if c.Weight > 0 {
		text += " weight " + strconv.FormatInt(c.Weight, 10)
	}
	return text
}

// classes are a policy's classes in order.
type classes struct {
	list []Class
	keys byKey[string] // the classes that overrides assign to keys
	// lowered maps a limit and class to the lowered limit, if it differs from the limit itself.
	lowered map[classLimit]engine.Limit
}

// classLimit identifies a limit for one class. The limit is the policy's own or an override's, and the class is given
// by its index.
type classLimit struct {
	limit engine.Limit
	class int
}

func (p *Policy) setClasses(fields list[classFields]) error {
	if fields == nil {
		return nil
	}
	if len(fields) < 1 || len(fields) > maxClasses {
		return invalid("classes", strconv.Itoa(len(fields))+" classes", classesAccepted)
	}
	for i, f := range fields {
		class, err := f.class()
		if err == nil && slices.ContainsFunc(p.classes.list, func(c Class) bool { return c.Name == class.Name }) {
			err = invalid("name", engine.Quote(class.Name)+" twice", "each name once")
		}
		if err != nil {
			return atField(err, "classes", strconv.Itoa(i))
		}
		p.classes.list = append(p.classes.list, class)
	}
	p.classes.lowered = map[classLimit]engine.Limit{}
	return nil
}

func (f *classFields) class() (c Class, err error) {
	if f.Name == nil || engine.CheckPolicyName(*f.Name) != nil {
		name := "not set"
		if f.Name != nil {
			name = engine.Quote(*f.Name)
		}
		return c, invalid("name", name, nameAccepted)
	}
	if f.Weight != nil {
		if c.Weight = *f.Weight; c.Weight < 1 || c.Weight > engine.MaxWeight {
			return c, atOwnField(invalid("weight", strconv.FormatInt(c.Weight, 10), weightAccepted))
		}
	}
	if c.Name = *f.Name; f.Leaves != nil {
		c.Leaves, err = engine.ParseLeave(*f.Leaves)
	}
	return c, atOwnField(err)
}

// classify computes the limits of the policy's classes from its own limits.
func (p *Policy) classify() error {
	if p.classes.list == nil {
		return nil
	}
	own, divides := false, false
	for i := range p.members {
		m := &p.members[i]
		if m.policy != p {
			continue
		}
		own, divides = true, divides || m.limit.Algorithm().Divides()
		for _, limit := range []engine.Limit{m.limit, m.candidate} {
			if err := p.lower(limit); err != nil {
				return err
			}
		}
	}
	if !own {
		return invalid("classes", "set", "classes in the policies that all or first names, which have the limits")
	}
	return p.weigh(divides)
}

// weigh returns an error if a class has a weight and divides is false: the policy has no limit that divides its units
// among keys.
func (p *Policy) weigh(divides bool) error {
	if i := slices.IndexFunc(p.classes.list, func(c Class) bool { return c.Weight > 0 }); i >= 0 && !divides {
		return atField(invalid("weight", strconv.FormatInt(p.classes.list[i].Weight, 10), "none on a policy without a limit that divides its units among keys, such as fair-share"), "classes", strconv.Itoa(i))
	}
	return nil
}

// lower derives the limit for each class from one of the policy's limits.
func (p *Policy) lower(limit engine.Limit) error {
	if limit.Err() != nil || limit.Algorithm().Constant() { // the policy has no candidate, or the answer is the same for all classes
		return nil
	}
	for i, class := range p.classes.list {
		weighted := limit.Weighing(class.Weight)
		lowered, err := weighted.ForClass(class.Leaves)
		if err == nil && i > 0 && limit.LeftBy(class.Leaves) < limit.LeftBy(p.classes.list[i-1].Leaves) {
			err = invalid("leaves", class.Leaves.String()+" after "+p.classes.list[i-1].Leaves.String(), "as much as the class before it leaves, or more")
		}
		if err == nil && i == 0 && limit.LeftBy(class.Leaves) > 0 {
			err = invalid("leaves", class.Leaves.String(), "0 on the first class: there is no class before it that could use these units")
		}
		if err != nil {
			return atField(atOwnField(err), "classes", strconv.Itoa(i))
		}
		if lowered != limit {
			p.classes.lowered[classLimit{limit, i}] = lowered
		}
	}
	return nil
}

// addClass assigns a class to a key, or to the keys that match a pattern.
func (p *Policy) addClass(o *overrideFields) error {
	switch {
	case p.classes.list == nil:
		return invalid("class", engine.Quote(*o.Class), "none on a policy without classes")
	case p.classes.index(*o.Class) < 0:
		return invalid("class", engine.Quote(*o.Class), p.classes.names())
	case o.Deny != nil || o.Unlimited != nil:
		return invalid("class", engine.Quote(*o.Class), "none with deny and unlimited, which are the same for every class")
	default:
		return p.classes.keys.add(*o.Key, *o.Class)
	}
}

func (c *classes) names() string {
	names := make([]string, len(c.list))
	for i := range c.list {
		names[i] = c.list[i].Name
	}
	return strings.Join(names, ", ")
}

// texts returns the text of each class, as from Class.String.
func (c *classes) texts() (all []string) {
	for i := range c.list {
		all = append(all, c.list[i].String())
	}
	return all
}

// index returns the index of the class with the given name, or -1.
func (c *classes) index(name string) int {
	return slices.IndexFunc(c.list, func(own Class) bool { return own.Name == name })
}

// classify applies [Classify] to one charge of a policy with classes.
func (c *Charge) classify(class string, key string, names []string) {
	all, name := &c.Owner.classes, class
	if own, ok := all.keys.find(key, names); ok {
		name = own
	}
	index := all.index(name)
	if index < 0 {
		index = len(all.list) - 1
	}
	c.put(index)
}

// InClasses returns the charge for each class that a request with the key can be in, in order. If the key has its own
// class, it returns only the charge for that class. It returns nil for a policy without classes, and for a penalty,
// because a penalty is the same for all classes. The parameters key and names are the same as in [Classify].
func (c *Charge) InClasses(key string, names ...string) (all []Charge) {
	if c.Owner == nil || c.Owner.classes.list == nil || c.Limit.Punishes() {
		return nil
	}
	if _, ok := c.Owner.classes.keys.find(key, names); ok {
		own := *c
		own.classify("", key, names)
		return []Charge{own}
	}
	all = slices.Repeat([]Charge{*c}, len(c.Owner.classes.list))
	for index := range all {
		all[index].put(index)
	}
	return all
}

// put sets the charge's class to the one with the given index, and its limit to the class's limit.
func (c *Charge) put(index int) {
	all := &c.Owner.classes
	c.Class, c.Limit = all.list[index].Name, all.limit(c.Limit, index)
}

// limit returns the limit for the class with the given index.
func (c *classes) limit(of engine.Limit, index int) engine.Limit {
	if lowered, ok := c.lowered[classLimit{of, index}]; ok {
		return lowered
	}
	return of
}
