// Package verbs is the table of what clients can ask for: the verbs, and the fields of their requests. The HTTP API,
// the RESP commands and docs/reference/openapi.yaml are derived from it.
//
//	verbs.go   a row for each verb
//	fields.go  a row for each field
package verbs

import (
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
)

// Verb is an operation that clients can request.
type Verb struct {
	// Name is the name over HTTP, as in /v1/allow. About describes the verb in openapi.yaml.
	Name, About string
	Kind        engine.Kind
	// Reports is true if the operation leaves the reservation open.
	Reports bool
	Answer  Answer
	// Forms are the forms of a request: by key, and perhaps by list or by reservation. The first field that the second
	// form needs tells them apart.
	Forms []Form
}

// Form is one form of a verb's requests: one RESP command, and one schema over HTTP.
type Form struct {
	// Command is the RESP command in lower case.
	Command string
	// Needs are the required fields, and Takes the optional ones. [Limit] can replace [Policy].
	Needs, Takes Set
	// HTTP contains the optional fields that have no place in the command.
	HTTP Set
}

// Answer is the content of a verb's answer.
type Answer uint8

// The answers to verbs.
const (
	Decision Answer = iota // may the request pass
	Given                  // how many units are left
	Reset                  // was there any state
	Reserved               // a decision, and the text for settling
	Settled                // did this call settle the reservation
	Reported               // is the reservation still open
	Acquired               // a decision, the holder's id and the lease
	Renewed                // is the permit still held
	Released               // was there a permit
)

// All lists the verbs.
var All = []Verb{
	{
		Name: "allow", About: "Charge units if they pass.",
		Kind: engine.OpAllow, Answer: Decision, Forms: []Form{
			{Command: "headgate.allow", Needs: of(Policy, Key), Takes: of(Limit, Cost, Class, Outcomes)},
			{Command: "headgate.allowall", Needs: of(Charges), Takes: of(Class, Atomic, Outcomes), HTTP: of(Outcomes)},
		},
	},
	{
		Name: "peek", About: "Answer as allow would, and charge nothing.",
		Kind: engine.OpPeek, Answer: Decision, Forms: []Form{
			{Command: "headgate.peek", Needs: of(Policy, Key), Takes: of(Limit, Cost, Class)},
			{Command: "headgate.peekall", Needs: of(Charges), Takes: of(Class, Atomic)},
		},
	},
	{
		Name: "give", About: "Give units back. Needs --allow-writes.",
		Kind: engine.OpGive, Answer: Given, Forms: []Form{
			{Command: "headgate.give", Needs: of(Policy, Key), Takes: of(Limit, Cost)},
		},
	},
	{
		Name: "reset", About: "Forget what a key has spent. Needs --allow-writes.",
		Kind: engine.OpReset, Answer: Reset, Forms: []Form{
			{Command: "headgate.reset", Needs: of(Policy, Key), Takes: of(Limit, Cost), HTTP: of(Cost)},
		},
	},
	{
		Name: "reserve", About: "Charge units now, until they are committed or cancelled. Buckets and pacers also reserve units that come later.",
		Kind: engine.OpReserve, Answer: Reserved, Forms: []Form{
			{Command: "headgate.reserve", Needs: of(Policy, Key), Takes: of(Limit, Cost, Class, MaxDelay, Outcomes), HTTP: of(Outcomes)},
			{Command: "headgate.reserveall", Needs: of(Charges), Takes: of(Class, Atomic, MaxDelay, Outcomes), HTTP: of(MaxDelay, Outcomes)},
		},
	},
	{
		Name: "commit", About: "Settle a reservation with the units that were used.",
		Kind: engine.OpSettle, Answer: Settled, Forms: []Form{
			{Command: "headgate.commit", Needs: of(Reservation, Actual)},
		},
	},
	{
		Name: "report", About: "Say what was used of a reservation so far, and begin its time again. Needs a policy with settle_within.",
		Kind: engine.OpSettle, Reports: true, Answer: Reported, Forms: []Form{
			{Command: "headgate.report", Needs: of(Reservation, Actual)},
		},
	},
	{
		Name: "cancel", About: "Give the units of a reservation back.",
		Kind: engine.OpSettle, Answer: Settled, Forms: []Form{
			{Command: "headgate.cancel", Needs: of(Reservation)},
		},
	},
	{
		Name: "acquire", About: "Hold units of a concurrency limit until they are released, or not renewed in time.",
		Kind: engine.OpAcquire, Answer: Acquired, Forms: []Form{
			{Command: "headgate.acquire", Needs: of(Policy, Key), Takes: of(Limit, Cost, Class, ID)},
		},
	},
	{
		Name: "renew", About: "Hold the units of a permit, or the permits of a reservation, for another lease time.",
		Kind: engine.OpRenew, Answer: Renewed, Forms: []Form{
			{Command: "headgate.renew", Needs: of(Policy, Key, ID), Takes: of(Limit)},
			{Command: "headgate.renewall", Needs: of(Reservation)},
		},
	},
	{
		Name: "release", About: "Give the units of a permit back.",
		Kind: engine.OpRelease, Answer: Released, Forms: []Form{
			{Command: "headgate.release", Needs: of(Policy, Key, ID), Takes: of(Limit)},
		},
	},
}

// Charge is the form of one element of [Charges].
var Charge = Form{Needs: of(Policy, Key), Takes: of(Limit, Cost)}

// Begin makes an empty request one for the verb, without the client's fields.
func (v *Verb) Begin(r *decide.Request) {
	r.Kind, r.HasCost, r.Reports = v.Kind, v.Kind == engine.OpSettle, v.Reports
}

// Fields returns the fields of all forms.
func (v *Verb) Fields() (s Set) {
	for i := range v.Forms {
		s |= v.Forms[i].Fields()
	}
	return s
}

// Fields returns the fields of a form.
func (f *Form) Fields() Set { return f.Needs | f.Takes }

// Mark returns the field that tells the form from the other form of its verb.
func (f *Form) Mark() Field { return f.Needs.First() }
