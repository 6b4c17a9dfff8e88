package verbs

import (
	"iter"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
)

// Field is a field of a request: a member of its JSON object over HTTP, and an argument of its command over RESP.
type Field uint8

// The fields, in the order of errors and of a command's arguments.
const (
	Policy Field = iota
	Limit
	Key
	Cost
	Class
	Charges
	Atomic
	MaxDelay
	ID
	Reservation
	Actual
	Outcomes
	// Count is the number of fields.
	Count
)

// Row describes a field.
type Row struct {
	// Name is the name over HTTP.
	Name string
	// Argument is the name over RESP, or several names. Without it, only HTTP has the field. Clause is a word that
	// introduces the argument, for fields that follow all others.
	Argument, Clause string
	// Repeats is the maximum number of arguments, or 0 for a single one.
	Repeats int
	// Least and Most bound a number, or the length of a text in bytes.
	Least, Most int64
	// Accepted says in errors what the field accepts. A number's is in [Row.Range].
	Accepted string
	// About describes the field in openapi.yaml. Schema is its type there, unless it is a number or a text.
	About, Schema string
	// Text sets a text, and Number a number. Front ends read fields that have neither on their own. The item is the
	// request's own, or an element of its list.
	Text   func(r *decide.Request, i *decide.Item, text string)
	Number func(r *decide.Request, i *decide.Item, n int64)
}

// maxDelay is the longest delay that a caller can accept: 36525 days.
const maxDelay = 36525 * 24 * time.Hour

// Rows has the row of each field.
var Rows = [Count]Row{
	Policy: {
		Name: "policy", Argument: "policy", Least: 1, Most: math.MaxInt64,
		Accepted: "the name of a policy",
		About:    "The name of a policy.",
		Text:     func(_ *decide.Request, i *decide.Item, text string) { i.Policy = text },
	},
	Limit: {
		Name:  "limit",
		About: "A limit that comes with the request, as text, as fields, or as all with 1 to 32 of these. CL.THROTTLE shares its counters.",
		Schema: `oneOf: [{$ref: "policies.schema.json#/$defs/limit"}, {type: object, required: [all], additionalProperties: false, ` +
			`properties: {all: {type: array, minItems: 1, maxItems: 32, items: {$ref: "policies.schema.json#/$defs/limit"}}}}]`,
	},
	Key: {
		Name: "key", Argument: "key", Least: 1, Most: engine.MaxKeyBytes,
		Accepted: "1 to 1024 bytes",
		About:    "The key that the request counts under. 1 to 1024 bytes.",
		Text:     func(_ *decide.Request, i *decide.Item, text string) { i.Key = text },
	},
	Cost: {
		Name: "cost", Argument: "units", Least: 0, Most: math.MaxInt64,
		About:  "Units. Without it the policy's own cost; 1 for an inline limit. At least 1 for reserve and acquire.",
		Number: func(_ *decide.Request, i *decide.Item, n int64) { i.Cost, i.HasCost = n, true },
	},
	Class: {
		Name: "class", Argument: "class", Clause: "CLASS", Most: math.MaxInt64,
		About: "The class of the request, for a policy with classes. A class that the policy does not have counts as its last. Not with limit.",
		Text:  func(r *decide.Request, _ *decide.Item, text string) { r.Class = text },
	},
	Charges: {
		Name: "charges", Argument: "policy key units", Repeats: engine.MaxCharges,
		About:  "Several charges, all or nothing.",
		Schema: `type: array, minItems: 1, maxItems: 32, items: {$ref: "#/components/schemas/Charge"}`,
	},
	Atomic: {
		Name: "atomic", Clause: "ATOMIC",
		About:  "Charges on several slots of a Redis Cluster are then an error, and not decided slot by slot.",
		Schema: "type: boolean",
	},
	MaxDelay: {
		Name: "max_delay_ms", Argument: "max_delay_ms", Least: 0, Most: maxDelay.Milliseconds(),
		About:  "The longest delay_ms that the caller accepts. Without it 0: units that come later are not reserved.",
		Number: func(r *decide.Request, _ *decide.Item, n int64) { r.MaxDelay = time.Duration(n) * time.Millisecond },
	},
	ID: {
		Name: "id", Argument: "id", Least: 1, Most: 64,
		Accepted: "the id of the acquire, 1 to 64 bytes",
		About:    "Names the holder, 1 to 64 bytes. For renew and release, it is the id of the acquire. The answer to an acquire without it has one that other clients cannot guess.",
		Text:     func(r *decide.Request, _ *decide.Item, text string) { r.ID = text },
	},
	Reservation: {
		Name: "reservation", Argument: "reservation", Least: 1, Most: math.MaxInt64,
		Accepted: "the reservation from the answer to reserve",
		About:    "The reservation from the answer to reserve.",
		Text:     func(r *decide.Request, _ *decide.Item, text string) { r.Reservation = text },
	},
	Actual: {
		Name: "actual", Argument: "actual", Repeats: engine.MaxCharges,
		Accepted: "the units that were used, 0 or more, or a list with the units of each charge",
		About:    "The units that were used: one number for all charges, or one for each in order. The number of a permit is not read.",
		Schema:   "oneOf: [{type: integer, minimum: 0}, {type: array, minItems: 1, maxItems: 32, items: {type: integer, minimum: 0}}]",
	},
	Outcomes: {
		Name: "outcomes", Argument: "good bad retry_after_ms", Clause: "OUTCOMES",
		About: "How earlier requests of the key have ended, for a policy whose rate adapts: how many succeeded and failed, and the Retry-After of the upstream. Other limits ignore it.",
	},
}

// Range returns the numbers that a field accepts, as text.
func (r *Row) Range() string {
	if r.Most == math.MaxInt64 {
		return "a whole number, " + strconv.FormatInt(r.Least, 10) + " or more"
	}
	return strconv.FormatInt(r.Least, 10) + " to " + strconv.FormatInt(r.Most, 10)
}

// Use sets the units that a reservation used: one number for all of its charges or, if each is true, one for each.
func Use(r *decide.Request, used []int64, each bool) {
	if r.Cost = used[0]; each {
		r.Used = used
	}
}

// Set is a set of fields.
type Set uint16

func of(fields ...Field) (s Set) {
	for _, f := range fields {
		s |= 1 << f
	}
	return s
}

// Has reports whether the set contains a field.
func (s Set) Has(f Field) bool { return s&(1<<f) != 0 }

// First returns the first field of a set that is not empty.
func (s Set) First() Field { return Field(bits.TrailingZeros16(uint16(s))) }

// Each iterates over the fields in their order.
func (s Set) Each() iter.Seq[Field] {
	return func(yield func(Field) bool) {
		for ; s != 0 && yield(s.First()); s &= s - 1 {
		}
	}
}

// Names returns the names of the fields over HTTP.
func (s Set) Names() (names []string) {
	for f := range s.Each() {
		names = append(names, Rows[f].Name)
	}
	return names
}

// Or lists the names of the fields, with "or" before the last.
func (s Set) Or() string {
	names := s.Names()
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
