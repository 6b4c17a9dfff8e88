package suggest

import (
	"math"
	"time"
)

// These constants define when a key's User-Agents count as different people. Clients choose their own User-Agent, so
// the number of values proves nothing: one client can send a new value with every request. docs/reference/replay.md
// describes the rules.
const (
	// sharedFrom is the minimum number of people that use a shared address.
	sharedFrom = 5
	// personRequests is the minimum number of requests from a person. personMinutes is the minimum number of minutes
	// that contain any of them.
	personRequests = 3
	personMinutes  = 2
	// sessions is a threshold for how much closer together a person's requests must be than if the User-Agents were
	// assigned at random. 0 means no closer, and 1 means always close.
	sessions = 0.4
	// peopleShare is the minimum share of a key's requests that must be from people.
	peopleShare = 0.5
)

// agentUse contains a key's requests with one User-Agent.
type agentUse struct {
	times       []int64
	last        int // the index of its last request among the key's requests
	near        int64
	minutes     int64
	lastMinute  int64
	nearIfGuess float64 // the share of near requests expected if the User-Agents were assigned at random
	reach       int     // the maximum distance of near requests, in requests of the key
}

// setPeople estimates the number of people that use a key, and the largest number of requests from one of them. If too
// few User-Agents look like people, it sets rotates instead.
func (p *profile) setPeople(g *groups, key int) {
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

// usesOf returns a key's requests, grouped by the hash of their User-Agent, which is their tag in g.
func usesOf(g *groups, key int) map[uint16]*agentUse {
	uses, times := map[uint16]*agentUse{}, g.of(key)
	for i, t := range times {
		tag := g.tagOf(key, i)
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
		tag := g.tagOf(key, i)
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

// isPerson reports whether the requests look like one person's: more than a few, in sessions, and not all at one
// moment.
func (u *agentUse) isPerson() bool {
	if len(u.times) < personRequests || u.minutes < personMinutes {
		return false
	}
	near := float64(u.near) / float64(len(u.times)-1)
	return near-u.nearIfGuess >= sessions*(1-u.nearIfGuess)
}
