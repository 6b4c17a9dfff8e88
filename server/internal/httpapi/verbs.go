package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/yamlfile"
	"github.com/headgate/headgate/server/internal/service"
)

// verb describes the operation that a path performs: the fields of its requests, and the form of its answers.
type verb struct {
	kind engine.Kind
	// fields lists the fields that a request can have.
	fields []string
	// answer returns the JSON value of the answer to one request, and the status for a request that is not in a
	// batch.
	answer func(*decide.Response) (value any, status int)
	// decision is true if the answer is only a decision.
	decision bool
	// headers is true if the answer contains rate-limit headers.
	headers bool
	// reports is true if the operation leaves the reservation open.
	reports bool
}

var (
	counted = []string{"policy", "limit", "key", "cost"}
	charged = append(slices.Clip(counted), "class", "charges", "atomic")
	holder  = []string{"policy", "limit", "key", "id"}
)

// verbs maps each path that makes a decision, or changes one, to its operation.
var verbs = map[string]verb{
	"/v1/allow":   {kind: engine.OpAllow, fields: append(slices.Clip(charged), "outcomes"), answer: answerDecision, decision: true, headers: true},
	"/v1/peek":    {kind: engine.OpPeek, fields: charged, answer: answerDecision, decision: true, headers: true},
	"/v1/give":    {kind: engine.OpGive, fields: counted, answer: answerDecision, decision: true, headers: true},
	"/v1/reset":   {kind: engine.OpReset, fields: counted, answer: answerFound("reset")},
	"/v1/reserve": {kind: engine.OpReserve, fields: append(slices.Clip(charged), "max_delay_ms", "outcomes"), answer: answerReserve, headers: true},
	"/v1/commit":  {kind: engine.OpSettle, fields: []string{"reservation", "actual"}, answer: answerSettled},
	"/v1/report":  {kind: engine.OpSettle, fields: []string{"reservation", "actual"}, reports: true, answer: answerReported},
	"/v1/cancel":  {kind: engine.OpSettle, fields: []string{"reservation"}, answer: answerSettled},
	"/v1/acquire": {kind: engine.OpAcquire, fields: append(slices.Clip(counted), "class", "id"), answer: answerAcquire},
	"/v1/renew":   {kind: engine.OpRenew, fields: append(slices.Clip(holder), "reservation"), answer: answerRenew},
	"/v1/release": {kind: engine.OpRelease, fields: holder, answer: answerFound("released")},
}

func statusOf(allowed bool, denied int) int {
	if allowed {
		return http.StatusOK
	}
	return denied
}

func answerDecision(r *decide.Response) (any, int) {
	return decisionOf(r), statusOf(r.Allowed, http.StatusTooManyRequests)
}

// answerFound answers with one boolean, which states whether there was anything to do.
func answerFound(name string) func(*decide.Response) (any, int) {
	return func(r *decide.Response) (any, int) { return map[string]bool{name: r.Found}, http.StatusOK }
}

// reserved is a decision with the text for settling the reservation. The text is omitted if the request is denied.
type reserved struct {
	decision

	Reservation  string `json:"reservation,omitempty"`
	SettleWithin int64  `json:"settle_within_ms,omitempty"`
}

func answerReserve(r *decide.Response) (any, int) {
	_, status := answerDecision(r)
	return reserved{decisionOf(r), r.Reservation, r.SettleWithin.Milliseconds()}, status
}

// reported states whether the reservation is still open, and how many used units could not be charged.
type reported struct {
	Open    bool  `json:"open"`
	Dropped int64 `json:"dropped,omitempty"`
}

func answerReported(r *decide.Response) (any, int) {
	return reported{r.Found, r.Dropped}, statusOf(r.Found, http.StatusGone)
}

// settled states whether this call settled the reservation, and how many used units could not be charged.
type settled struct {
	Settled bool  `json:"settled"`
	Dropped int64 `json:"dropped,omitempty"`
}

func answerSettled(r *decide.Response) (any, int) {
	return settled{r.Found, r.Dropped}, http.StatusOK
}

// acquired is a decision with the permit's holder id and lease time. Both are omitted if the request is denied.
type acquired struct {
	decision

	ID    string `json:"id,omitempty"`
	Lease int64  `json:"lease_ms,omitempty"`
}

func answerAcquire(r *decide.Response) (any, int) {
	_, status := answerDecision(r)
	return acquired{decisionOf(r), r.ID, int64(r.Lease / time.Millisecond)}, status
}

// renewed states whether the permit is still held, and for how much longer.
type renewed struct {
	Held  bool  `json:"held"`
	Lease int64 `json:"lease_ms,omitempty"`
}

func answerRenew(r *decide.Response) (any, int) {
	held := r.Allowed
	return renewed{held, int64(r.Lease / time.Millisecond)}, statusOf(held, http.StatusGone)
}

// check rejects fields that do not apply to the verb.
func (v *verb) check(f *requestFields) error {
	for _, field := range [...]struct {
		name string
		set  bool
	}{
		{"policy", f.Policy != nil},
		{"limit", f.Limit != nil},
		{"key", f.Key != nil},
		{"cost", f.Cost != nil},
		{"class", f.Class != nil},
		{"charges", f.Charges != nil},
		{"atomic", f.Atomic != nil},
		{"max_delay_ms", f.MaxDelay != nil},
		{"id", f.ID != nil},
		{"reservation", f.Reservation != nil},
		{"actual", f.Actual != nil},
		{"outcomes", f.Outcomes != nil},
	} {
		if field.set && !slices.Contains(v.fields, field.name) {
			return v.unknown(field.name)
		}
	}
	return nil
}

// unknown returns the error for a field that does not apply to the verb.
func (v *verb) unknown(name string, more ...string) error {
	accepted := append(slices.Clip(v.fields), more...)
	return badField(name, fmt.Sprintf("unknown field %.128q; accepted: %s", name, strings.Join(accepted, ", ")+yamlfile.DidYouMean(name, accepted)))
}

// settle returns the request for a commit or cancel.
func (v *verb) settle(f *requestFields) (decide.Request, error) {
	r := decide.Request{Kind: v.kind, Item: decide.Item{HasCost: true}, Reports: v.reports}
	commits := slices.Contains(v.fields, "actual")
	switch {
	case f.Reservation == nil || *f.Reservation == "":
		return r, badField("reservation", "reservation is not set; accepted: the reservation from the answer to reserve")
	case commits && f.Actual == nil:
		return r, badField("actual", "actual is not set; accepted: the units that were used, 0 or more, or a list with the units of each charge")
	case commits:
		if err := f.Actual.check(); err != nil {
			return r, err
		}
		if r.Cost = f.Actual.units[0]; f.Actual.list {
			r.Used = f.Actual.units
		}
	}
	r.Reservation = *f.Reservation
	return r, nil
}

// actual is the number of used units of a reservation: one number for all charges, or a list with a number for each
// charge.
type actual struct {
	units []int64 // at least 1 element
	list  bool
}

// UnmarshalJSON accepts both forms.
func (a *actual) UnmarshalJSON(data []byte) error {
	if a.list = data[0] == '['; !a.list {
		a.units = make([]int64, 1)
		return json.Unmarshal(data, &a.units[0])
	}
	if err := json.Unmarshal(data, &a.units); err != nil {
		return err
	}
	if n := len(a.units); n < 1 || n > engine.MaxCharges {
		return badField("actual", "actual has "+strconv.Itoa(n)+" numbers; accepted: one for each charge, 1 to 32")
	}
	return nil
}

// check returns the error for a negative number. In a list it names the charge.
func (a *actual) check() error {
	i := slices.IndexFunc(a.units, func(n int64) bool { return n < 0 })
	if i < 0 {
		return nil
	}
	err := badField("actual", fmt.Sprintf("actual is %d; accepted: a whole number, 0 or more", a.units[i]))
	if a.list {
		err = service.OfCharge(i, err)
	}
	return err
}

// maxDelayMillis is the longest delay that a caller can accept: 36525 days.
const maxDelayMillis = 36525 * 24 * 60 * 60 * 1000

// hold sets the fields that concern reservations and permits.
func (f *requestFields) hold(r *decide.Request) error {
	if f.MaxDelay != nil {
		if *f.MaxDelay < 0 || *f.MaxDelay > maxDelayMillis {
			return badField("max_delay_ms", fmt.Sprintf("max_delay_ms is %d; accepted: 0 to %d", *f.MaxDelay, int64(maxDelayMillis)))
		}
		r.MaxDelay = time.Duration(*f.MaxDelay) * time.Millisecond
	}
	if f.ID != nil {
		r.ID = *f.ID
	}
	needed := r.Kind == engine.OpRenew && f.Reservation == nil || r.Kind == engine.OpRelease
	if f.ID == nil && needed || f.ID != nil && (r.ID == "" || len(r.ID) > maxIDBytes) {
		return badField("id", "id is "+engine.Quote(r.ID)+"; accepted: the id of the acquire, 1 to 64 bytes")
	}
	return nil
}

const maxIDBytes = 64
