package model

import (
	"math/rand/v2"
)

// run is a simulation in progress.
type run struct {
	*Config
	loop

	gate    Gate
	watcher Watcher
	random  *rand.Rand
	tally   *Tally
	now     int64
	phase   int

	rates    []reader // one per client
	calls    []clientCall
	attempts []attempt
	freeCall []int32
	freeSlot []int32
	inflight int // admitted attempts that have not yet ended for the gate
	total    int // attempts so far

	server
}

// Run simulates a configuration with one gate. It returns an error if a field is out of range, or if the run makes more
// attempts than Config.Attempts.
func Run(c Config, g Gate) (*Tally, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	r := &run{Config: &c, gate: g, random: rand.New(rand.NewPCG(c.Seed, 0x68656164)), tally: newTally(&c)}
	r.watcher, _ = g.(Watcher)
	r.server.start(&c.Server)
	for i := range c.Clients {
		r.rates = append(r.rates, reader{Course: c.Clients[i].Rate})
		r.begin(int32(i))
	}
	r.add(TickEvery, tick, 0)
	for {
		e, ok := r.next()
		if !ok {
			return r.tally, nil
		}
		if r.total > r.Attempts {
			return nil, errAttempts
		}
		r.now = e.at
		r.happen(e)
	}
}

func (r *run) happen(e event) {
	switch e.kind {
	case arrival:
		r.arrive(e.subject)
	case retry:
		r.try(e.subject)
	case finish:
		r.finished(e.subject)
	case expiry:
		r.expired(e.subject, e.use)
	case tick:
		r.observe()
	}
}

// begin schedules the first requests of a client.
func (r *run) begin(client int32) {
	c := &r.Clients[client]
	if c.Users == 0 {
		r.schedule(client)
		return
	}
	for range c.Users {
		r.think(client)
	}
}

// schedule adds the next arrival of an open client. If the rate changes before that arrival, schedule draws again at
// the time of the change. This is correct because a Poisson process is memoryless.
func (r *run) schedule(client int32) {
	rates := &r.rates[client]
	at := r.now
	for at < r.Length {
		rate, change := rates.at(at), rates.nextChange(at)
		if rates.linear && change > 0 {
			change = min(change, at+1_000_000) // follow a ramp in steps of one second
		}
		next := int64(-1)
		if rate > 0 {
			next = at + int64(r.random.ExpFloat64()*1e6/rate)
		}
		if next >= 0 && (change < 0 || next < change) {
			if next < r.Length {
				r.add(next, arrival, client)
			}
			return
		}
		if change < 0 {
			return
		}
		at = change
	}
}

// think schedules the next request of one user of a closed client.
func (r *run) think(client int32) {
	if at := r.now + int64(r.random.ExpFloat64()*r.Clients[client].Think); at < r.Length {
		r.add(at, arrival, client)
	}
}

func (r *run) arrive(client int32) {
	for r.phase+1 < len(r.Phases) && r.Phases[r.phase+1] <= r.now {
		r.phase++
	}
	c := &r.Clients[client]
	if c.Users == 0 {
		r.schedule(client)
	}
	r.tally.offered(r.now, r.phase, c.Tenant)
	r.try(r.open(client))
}

// observe passes the machine's load to the gate, and records the gate's limit.
func (r *run) observe() {
	l := r.load(r.now)
	if r.watcher != nil {
		r.watcher.Tick(r.now, l)
	}
	r.startWaiting() // workers may have been added
	r.tally.observed(r.now, r.gate.Limit(), r.inflight)
	// Waiting requests may need workers that are only added later. The wait for these workers is bounded, because there
	// may never be any.
	if r.now+TickEvery <= r.Length || r.inServer() > 0 && r.now < r.Length+longestWait {
		r.add(r.now+TickEvery, tick, 0)
	}
}
