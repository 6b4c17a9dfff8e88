package chaos

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// listKeys contains the keys of the two charges in a list. They are in different slots of a Cluster. The list's permit
// uses the same key as the other holders.
var listKeys = []string{"k1", "k2"}

const (
	// byOther is the class of a charge in a list that was denied because of another charge. If the list's keys are in
	// several slots, the units stayed charged until they were given back.
	byOther = "denied because of another charge"
	// undone is the longest time that a denied list's permit may still be held after the answer arrived.
	undone = 100 * time.Millisecond
	// inFull is the class of a settlement that the store did not apply in full.
	inFull = "not settled in full"
)

func (a *answer) isPermit() bool { return a.limit.algorithm == seats }

// list takes some lists of charges and reserves others until end is called. It settles the reservations a while later.
func (c *callers) list(random *rand.Rand, process int, address string) {
	for !c.stop.Load() {
		pause(random)
		path, list := "/v1/allow", c.drawList(random, process)
		if random.IntN(4) > 0 {
			path, list = "/v1/reserve", c.withPermit(random, list)
		}
		reservation := c.ask(list, address, path)
		var permit *hold
		for i := range list {
			if list[i].isPermit() {
				permit = holdOf(&list[i])
			}
		}
		if reservation != "" && random.IntN(5) > 0 { // one in five reservations is never settled
			c.settle(random, list, permit, address, reservation)
		}
		for i := range list {
			if !list[i].isPermit() {
				c.keep(list[i])
			}
		}
		if permit != nil {
			c.keepHold(permit)
		}
	}
}

// drawList draws charges on two policies with the same failure mode.
func (c *callers) drawList(random *rand.Rand, process int) (list []answer) {
	from := c.listed[random.IntN(len(c.listed))]
	for i, place := range random.Perm(len(from))[:len(listKeys)] {
		cost := 1 + random.Int64N(5)
		list = append(list, answer{limit: from[place], key: listKeys[i], process: process, reserved: cost, used: cost, listed: true})
	}
	return list
}

// withPermit adds a permit to half of the lists, at a random position.
func (c *callers) withPermit(random *rand.Rand, list []answer) []answer {
	if random.IntN(2) == 0 {
		return list
	}
	permit := answer{limit: &limit{policy: seatPolicy, algorithm: seats}, key: "k0", process: list[0].process, reserved: 1}
	if list[0].limit.failure == "local" {
		permit.limit.policy = shared
	}
	return slices.Insert(list, random.IntN(len(list)+1), permit)
}

// ask sends a list, and sets the answer for each charge.
func (c *callers) ask(list []answer, address, path string) (reservation string) {
	charges := make([]map[string]any, len(list))
	for i := range list {
		charges[i] = map[string]any{"policy": list[i].limit.policy, "key": list[i].key, "cost": list[i].reserved}
	}
	charges = append(charges, map[string]any{"policy": ghost, "key": list[0].key})
	var d struct {
		Allowed     bool   `json:"allowed"`
		Mode        string `json:"mode"`
		Overshoot   int64  `json:"overshoot_max"`
		Charges     []int  `json:"charges"` // the binding limit's charges
		Reservation string `json:"reservation"`
	}
	sent := c.now()
	_, class := c.post(address, path, map[string]any{"charges": charges}, &d)
	for i := range list {
		a := &list[i]
		a.sent, a.received, a.class = sent, c.now(), class
		a.allowed, a.mode, a.overshoot = d.Allowed, d.Mode, d.Overshoot
		if class == "" && !d.Allowed && !slices.Contains(d.Charges, i) {
			a.class = byOther
		}
	}
	return d.Reservation
}

// settle settles a reservation with fewer or more units than were reserved for each charge, or with none. Units used
// beyond the reservation are recorded as a separate charge.
func (c *callers) settle(random *rand.Rand, list []answer, permit *hold, address, reservation string) {
	time.Sleep(time.Duration(random.Int64N(int64(900 * time.Millisecond))))
	actual, path := make([]int64, len(list)+1), "/v1/cancel" // the last charge is the ghost's
	body := map[string]any{"reservation": reservation}
	if random.IntN(4) > 0 {
		path, body["actual"] = "/v1/commit", actual
		for i := range list {
			actual[i] = random.Int64N(2*list[i].reserved + 1)
		}
	}
	var d struct {
		Settled bool  `json:"settled"`
		Dropped int64 `json:"dropped"`
	}
	sent := c.now()
	status, class := c.post(address, path, body, &d)
	settled := class == "" && status == http.StatusOK && d.Settled
	if class == "" && (!settled || d.Dropped > 0 || list[0].fallback()) {
		class = inFull
	}
	for i := range list {
		a := &list[i]
		a.used = min(a.reserved, actual[i])
		if beyond := actual[i] - a.reserved; beyond > 0 && !a.isPermit() {
			c.keep(answer{limit: a.limit, key: a.key, process: a.process, sent: sent, received: c.now(), class: class, allowed: class == "", mode: "settled", beyond: beyond})
		}
	}
	if permit != nil {
		permit.end(sent, c.now(), settled)
	}
}
