package suggest

import (
	"math"
	"time"

	"github.com/headgate/headgate/replay/series"
)

// The rules by which the values of User-Agent of a key are taken for people. A client writes its own
// User-Agent, so the number of values proves nothing: one client can send another value with every
// request. docs/reference/replay.md has the rules in words.
const (
	// sharedFrom is how many people a shared address has at least.
	sharedFrom = 5
	// personRequests and personMinutes are the fewest requests of a person, and the fewest minutes in
	// which they come.
	personRequests = 3
	personMinutes  = 2
	// sessions is by how much the requests of a person are nearer to each other than if the values were
	// drawn at random: 0 is not at all, and 1 is always.
	sessions = 0.4
	// peopleShare is which share of the requests of a key people must send.
	peopleShare = 0.5
)

// agentUse is the requests of a key with one value of User-Agent.
type agentUse struct {
	times       []int64
	last        int // the place of its last request among those of the key
	near        int64
	minutes     int64
	lastMinute  int64
	nearIfGuess float64 // the share of near requests if values are drawn at random
	reach       int     // how near is near, in requests of the key
}

// setPeople sets how many people a key is taken for, and what the busiest of them did.
func (p *profile) setPeople(g *series.Groups, key int) {
	p.busiest = p.most
	if p.distinctAgents() < sharedFrom {
		return
	}
	uses := usesOf(g, key)
	people, requests := int64(0), int64(0)
	var busiest [len(Windows)]int64
	for _, use := range uses {
		if use.isPerson() {
			people++
			requests += int64(len(use.times))
		}
		for w := range Windows {
			busiest[w] = max(busiest[w], mostIn(use.times, Windows[w].Length))
		}
	}
	if people < sharedFrom || float64(requests) < peopleShare*float64(p.requests) {
		p.rotates = true
		return
	}
	p.persons, p.busiest = people, busiest
}

// usesOf returns the requests of a key by the hash of their User-Agent.
func usesOf(g *series.Groups, key int) map[uint16]*agentUse {
	uses, times := map[uint16]*agentUse{}, g.Times(key)
	for i, t := range times {
		tag, _ := g.Of(key, i)
		if uses[tag] == nil {
			uses[tag] = &agentUse{last: -1}
		}
		uses[tag].times = append(uses[tag].times, t)
	}
	for _, use := range uses {
		share := float64(len(use.times)) / float64(len(times))
		use.reach = max(1, int(1/(4*share)))
		use.nearIfGuess = 1 - math.Pow(1-share, float64(use.reach))
	}
	for i, t := range times {
		tag, _ := g.Of(key, i)
		use := uses[tag]
		if use.last >= 0 && i-use.last <= use.reach {
			use.near++
		}
		use.last = i
		if minute := t / time.Minute.Microseconds(); use.minutes == 0 || minute != use.lastMinute {
			use.minutes, use.lastMinute = use.minutes+1, minute
		}
	}
	return uses
}

// isPerson reports whether the requests look like those of a person: some, in sessions, for longer than
// a moment.
func (u *agentUse) isPerson() bool {
	if len(u.times) < personRequests || u.minutes < personMinutes {
		return false
	}
	near := float64(u.near) / float64(len(u.times)-1)
	return near-u.nearIfGuess >= sessions*(1-u.nearIfGuess)
}
