package model

// clientCall is a client's request, with one or several attempts in sequence.
type clientCall struct {
	start  int64
	client int32
	phase  int32
	tries  int32
}

// attempt is an admitted attempt. It exists until the server has finished it and its end has been reported to the gate.
type attempt struct {
	Attempt

	start int64
	// call is the attempt's call, or the constant abandoned once the client has given up.
	call int32
	// uses distinguishes the successive attempts in a slot, so that the expiry of an earlier attempt is ignored.
	uses uint32
	// failed is true if the queue was full.
	failed bool
}

const abandoned int32 = -1

func take(free *[]int32) (int32, bool) {
	n := len(*free)
	if n == 0 {
		return 0, false
	}
	last := (*free)[n-1]
	*free = (*free)[:n-1]
	return last, true
}

// open starts a new call by the client and returns its index in r.calls.
func (r *run) open(client int32) int32 {
	c := clientCall{start: r.now, client: client, phase: int32(r.phase)}
	i, ok := take(&r.freeCall)
	if !ok {
		i = int32(len(r.calls))
		r.calls = append(r.calls, c)
		return i
	}
	r.calls[i] = c
	return i
}

// try makes the next attempt for a call: the gate decides, and an admitted attempt enters the server.
func (r *run) try(id int32) {
	r.total++
	c := &r.calls[id]
	c.tries++
	client := &r.Clients[c.client]
	slot, reused := take(&r.freeSlot)
	if !reused {
		slot = int32(len(r.attempts))
		r.attempts = append(r.attempts, attempt{})
	}
	a := &r.attempts[slot]
	a.Attempt = Attempt{Slot: slot, Tenant: client.Tenant, Inflight: r.inflight + 1}
	allowed, wait := r.gate.Allow(r.now, a.Attempt)
	if !allowed {
		r.freeSlot = append(r.freeSlot, slot)
		r.tally.denied(c, r.server.idle())
		r.again(id, wait)
		return
	}
	r.inflight++
	a.start, a.call, a.failed = r.now, id, false
	a.uses++
	if client.Retry.Max > 0 || client.Users > 0 || r.AtClient {
		r.push(event{at: r.now + client.Deadline, kind: expiry, subject: slot, use: a.uses})
	}
	if !r.enter(slot) {
		a.failed = true
		r.end(slot)
	}
}

// finished ends the service of an attempt, and then starts attempts that are waiting.
func (r *run) finished(slot int32) {
	r.server.leave(r.now)
	r.end(slot)
	r.startWaiting()
}

// end ends an attempt at the server, and either completes its call or retries it. With a gate at the client, a timeout
// has already been reported to the gate.
func (r *run) end(slot int32) {
	a := &r.attempts[slot]
	if a.call >= 0 || !r.AtClient {
		r.tell(a, a.failed)
	}
	id := a.call
	a.uses++ // invalidates its expiry
	r.freeSlot = append(r.freeSlot, slot)
	if id < 0 {
		return
	}
	c := &r.calls[id]
	deadline := r.Clients[c.client].Deadline
	if !a.failed {
		r.tally.answered(min(r.now-a.start, deadline))
	}
	if a.failed || r.now-a.start > deadline {
		r.again(id, 0)
		return
	}
	r.tally.good(c, r.now, r.Clients[c.client].Tenant)
	r.close(id)
}

// tell reports the end of an attempt to the gate.
func (r *run) tell(a *attempt, failed bool) {
	r.inflight--
	r.gate.Done(r.now, Sample{Attempt: a.Attempt, Start: a.start, RTT: r.now - a.start, Left: r.inflight, Failed: failed})
}

// expired is called when an attempt's client gives up. The server continues to work on the attempt.
func (r *run) expired(slot int32, use uint32) {
	a := &r.attempts[slot]
	if a.uses != use {
		return
	}
	if r.AtClient {
		r.tell(a, true)
	}
	id := a.call
	a.call = abandoned
	r.tally.answered(r.now - a.start)
	r.again(id, 0)
}

// again schedules the next attempt for a call, or ends the call if it has no retries left. The argument wait is the
// denial's Retry-After in µs, or 0.
func (r *run) again(id int32, wait int64) {
	c := &r.calls[id]
	policy := &r.Clients[c.client].Retry
	if int(c.tries) > policy.Max {
		r.close(id)
		return
	}
	r.add(r.now+policy.pause(int(c.tries), wait, r.random), retry, id)
}

func (r *run) close(id int32) {
	client := r.calls[id].client
	r.freeCall = append(r.freeCall, id)
	if r.Clients[client].Users > 0 {
		r.think(client)
	}
}
