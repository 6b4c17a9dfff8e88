package suggest

import (
	"fmt"

	"github.com/headgate/headgate/internal/format"
)

// every returns the indices of the keys that the given function selects.
func (f *finder) every(of func(p *profile) bool) (places []int) {
	for i := range f.all {
		if of(&f.all[i]) {
			places = append(places, i)
		}
	}
	return places
}

// listed describes the keys of a class. The keys with the most requests come first.
func (f *finder) listed(of class) []KeyProfile {
	list := f.list(f.every(func(p *profile) bool { return p.class == of }))
	for i := range list {
		list[i].Why = f.all[list[i].place].why()
	}
	return list
}

// list describes keys. The keys with the most requests come first.
func (f *finder) list(places []int) (list []KeyProfile) {
	for _, n := range highest(len(places), f.options.Listed, func(n int) float64 { return float64(f.all[places[n]].requests) }) {
		place := places[n]
		p, times := &f.all[place], f.groups.of(place)
		list = append(list, KeyProfile{
			Key: f.texts[place], Requests: p.requests, Most: p.most, Agents: p.distinctAgents(), Denied: p.denied,
			From: times[0], To: times[len(times)-1], place: int32(place),
		})
	}
	return list
}

// why explains why a key is an outlier, or why it is considered to be many people.
func (p *profile) why() string {
	if p.class == shared {
		return fmt.Sprintf("its requests come in the sessions of about %d values of User-Agent: looks like many people behind one address", p.people())
	}
	than := "far more than 90 % of the regular keys"
	if p.alone {
		than = fmt.Sprintf("at least %d times as many as the next key", gap)
	}
	text := fmt.Sprintf("%s in its busiest minute, %s in its busiest hour: %s", format.Counted(p.most[inMinute], "request"), format.Grouped(p.most[inHour]), than)
	if p.rotates {
		text += "; it changes its User-Agent as no group of people does"
	}
	return text
}
