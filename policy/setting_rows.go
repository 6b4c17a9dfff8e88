package policy

import (
	"reflect"
	"regexp"
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// Settings are the settings of a policy. Commands print them in the order of the fields.
type Settings struct {
	// First is true if only the first limit with room is charged. It is false if all limits are charged.
	First   bool   `json:"first,omitempty"`
	Failure string `json:"failure"`
	Mode    string `json:"mode"`
	Headers string `json:"headers"`
	Cost    int64  `json:"cost"`
	// Unit is the name of the unit, such as tokens.
	Unit string `json:"unit,omitempty"`
	// Classes are the classes of requests in order, such as "batch leaves 10%".
	Classes []string `json:"classes,omitempty"`
	// EstimateMax is "capacity" if a reserve takes at most the capacity of the limits.
	EstimateMax string `json:"estimate_max,omitempty"`
	// SettleWithin is the term of a reservation, such as 10m: the time until it must be settled. Unsettled determines
	// the charge of a reservation that was not settled in time: keep, release or estimate.
	SettleWithin string `json:"settle_within,omitempty"`
	Unsettled    string `json:"unsettled,omitempty"`
	Shadow       bool   `json:"shadow"`
	Candidate    string `json:"candidate,omitempty"`
	Enabled      bool   `json:"enabled"`
}

// settingValues are the values of a policy's settings in a file, by name, each of the type of its row.
type settingValues map[string]any

// setting is a field of a policy in addition to its limits. Its row is all that a file, a change, the schema and the
// summary need.
type setting struct {
	engine.Field
	// in is the type of the value in a file. If it is nil, the kind determines it.
	in reflect.Type
	// read checks a value and sets it in the policy. The argument all has the other settings too.
	read func(p *Policy, value any, all settingValues) error
	// check checks the setting against the policy's limits, if it is not nil.
	check func(p *Policy) error
	// show sets the setting in the summary.
	show func(p *Policy, s *Settings)
}

// settingRows lists the settings in the order in which they are read.
var settingRows = []setting{
	{
		Field: engine.Field{Name: "failure", Kind: engine.FieldWord, Accepted: failureAccepted, About: "The answer to an allow or peek while the store is unavailable: " + FailureModes() + ". local is the default."},
		read: func(p *Policy, value any, _ settingValues) error {
			var err error
			p.Failure, err = ParseFailure(value.(string))
			return err
		},
		show: func(p *Policy, s *Settings) { s.Failure = p.Failure.String() },
	},
	{
		Field: engine.Field{Name: "mode", Kind: engine.FieldWord, Accepted: modeAccepted, About: "With leased, the server prefetches units for hot keys from Redis. By default exact."},
		read: func(p *Policy, value any, _ settingValues) error {
			switch mode := value.(string); mode {
			case "exact", "leased":
				p.Leased = mode == "leased"
				return nil
			default:
				return invalidWord("mode", mode, modeAccepted)
			}
		},
		check: (*Policy).checkLease,
		show:  func(p *Policy, s *Settings) { s.Mode = p.Mode() },
	},
	{
		Field: engine.Field{Name: "headers", Kind: engine.FieldWord, Accepted: headersAccepted, About: "The form of the rate-limit headers in HTTP answers. By default draft."},
		read: func(p *Policy, value any, _ settingValues) error {
			switch h := Headers(value.(string)); h {
			case HeadersDraft, HeadersDraft03, HeadersXRateLimit, HeadersSpring, HeadersOff:
				p.Headers = h
				return nil
			default:
				return invalidWord("headers", string(h), headersAccepted)
			}
		},
		show: func(p *Policy, s *Settings) { s.Headers = string(p.Headers) },
	},
	{
		Field: engine.Field{Name: "cost", Kind: engine.FieldUnits, Accepted: costAccepted, About: "The cost, in units, of a request that names no cost. By default 1."},
		read: func(p *Policy, value any, _ settingValues) error {
			if p.Cost = value.(int64); p.Cost < 0 || p.Cost > algo.MaxUnits {
				return invalid("cost", strconv.FormatInt(p.Cost, 10), costAccepted)
			}
			return nil
		},
		check: func(p *Policy) error { return p.checkCost(p.Cost) },
		show:  func(p *Policy, s *Settings) { s.Cost = p.Cost },
	},
	{
		Field: engine.Field{Name: "unit", Kind: engine.FieldWord, Accepted: unitAccepted, About: "The name of a unit, such as tokens or micro-dollars, for display. It changes no count."},
		read: func(p *Policy, value any, _ settingValues) error {
			if p.Unit = value.(string); !unitForm.MatchString(p.Unit) {
				return invalidWord("unit", p.Unit, unitAccepted)
			}
			return nil
		},
		show: func(p *Policy, s *Settings) { s.Unit = p.Unit },
	},
	{
		Field: engine.Field{Name: "estimate_max", Kind: engine.FieldWord, Accepted: estimateAccepted, About: "With capacity, a reserve of more units than a limit can ever let pass reserves the units that can pass, and the commit charges the rest. By default such a reserve never passes."},
		read: func(p *Policy, value any, _ settingValues) error {
			if p.EstimateMax = value == estimateAccepted; !p.EstimateMax {
				return invalidWord("estimate_max", value.(string), estimateAccepted)
			}
			return nil
		},
		show: func(p *Policy, s *Settings) {
			if p.EstimateMax {
				s.EstimateMax = estimateAccepted
			}
		},
	},
	{
		Field: engine.Field{Name: "settle_within", Kind: engine.FieldWord, About: "How long a reservation can be settled or reported, 1ms to 168h in whole milliseconds. The store then ends it in the way that unsettled sets. By default no reservation is ended."},
		read: func(p *Policy, value any, _ settingValues) error {
			within, err := engine.ParseSpan(value.(string))
			if err != nil {
				return atField(err, "settle_within")
			}
			p.Term = &engine.Term{Within: within}
			return atOwnField(p.Term.Check())
		},
		show: func(p *Policy, s *Settings) {
			if p.Term != nil {
				s.SettleWithin = engine.FormatSpan(p.Term.Within)
			}
		},
	},
	{
		Field: engine.Field{Name: "unsettled", Kind: engine.FieldWord, Accepted: unsettledAccepted, About: "The fate of a reservation that is not settled in time: keep leaves its charge, release gives back the units that were not reported as used, and estimate charges the estimate, even if estimate_max lowered it. Its permits are released. By default keep."},
		read: func(p *Policy, value any, all settingValues) error {
			word := value.(string)
			then, known := engine.ParseUnsettled(word)
			switch {
			case all["settle_within"] == nil:
				return invalid("unsettled", engine.Quote(word), "none without settle_within")
			case !known:
				return invalidWord("unsettled", word, unsettledAccepted)
			case p.Term != nil: // settle_within has no error
				p.Term.Then = then
			}
			return nil
		},
		show: func(p *Policy, s *Settings) {
			if p.Term != nil {
				s.Unsettled = p.Term.Then.String()
			}
		},
	},
	{
		Field: engine.Field{Name: "classes", Accepted: classesAccepted, About: "Request classes, the most important first. Each class leaves some units to the classes before it."},
		in:    reflect.TypeFor[list[classFields]](),
		read: func(p *Policy, value any, _ settingValues) error {
			return p.setClasses(value.(list[classFields]))
		},
		check: (*Policy).classify,
		show:  func(p *Policy, s *Settings) { s.Classes = p.classes.texts() },
	},
	{
		Field: engine.Field{Name: "shadow", About: "true decides and counts, but never denies. A limit is a candidate: a second limit with a counter of its own, which never denies. It takes missing fields from the policy."},
		in:    reflect.TypeFor[shadowFields](),
		read: func(p *Policy, value any, _ settingValues) error {
			p.Shadow = value.(shadowFields).on
			return nil
		},
		show: func(p *Policy, s *Settings) { s.Shadow, s.Candidate = p.Shadow, p.Candidate() },
	},
	{
		Field: engine.Field{Name: "enabled", Kind: engine.FieldFlag, About: "false admits everything and counts nothing."},
		read: func(p *Policy, value any, _ settingValues) error {
			p.Enabled = value.(bool)
			return nil
		},
		show: func(p *Policy, s *Settings) { s.Enabled = p.Enabled },
	},
}

var unitForm = regexp.MustCompile(unitPattern)

// settings returns the settings as a summary shows them.
func (p *Policy) settings() (s Settings) {
	s.First = p.choosing == p
	for i := range settingRows {
		settingRows[i].show(p, &s)
	}
	return s
}

// Names implements [yamlfile.Table].
func (settingValues) Names() (names []string) {
	for i := range settingRows {
		names = append(names, settingRows[i].Name)
	}
	return names
}

// Type implements [yamlfile.Table].
func (settingValues) Type(name string) reflect.Type {
	for i := range settingRows {
		if row := &settingRows[i]; row.Name == name && row.in != nil {
			return row.in
		} else if row.Name == name {
			return typeOfKind(row.Kind)
		}
	}
	return nil
}

// Set implements [yamlfile.Table].
func (s *settingValues) Set(name string, value reflect.Value) {
	if *s == nil {
		*s = settingValues{}
	}
	(*s)[name] = value.Interface()
}

func (s settingValues) shadow() shadowFields {
	shadow, _ := s["shadow"].(shadowFields)
	return shadow
}
