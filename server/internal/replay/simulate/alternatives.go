package simulate

import (
	"runtime"
	"slices"
	"sync"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/replay/series"
)

// Alternative describes the requests that a policy's limit would have denied on its own, with its own algorithm or with
// another algorithm and the same parameters.
type Alternative struct {
	// Limit is the policy's limit. Algorithm is the algorithm that was tried.
	Limit     string `json:"limit"`
	Algorithm string `json:"algorithm"`
	// Own is true for the policy's own algorithm.
	Own    bool  `json:"own,omitempty"`
	Denied int64 `json:"denied"`
	// Keys is the number of keys denied at least once.
	Keys int64 `json:"keys"`
	// Requests is the number of requests charged to the limit.
	Requests int64 `json:"requests"`
}

// These constants define how a request's cost is recorded: ownCost represents the cost set by its policies. Any other
// value is givenCost plus a cost that the route read from the request. Costs above 65 533 are recorded as 65 533.
const (
	ownCost   = 1
	givenCost = 2
)

// variants returns the given limit, followed by limits with other algorithms and the same parameters. It returns nil if
// no other algorithm supports these parameters.
func variants(limit engine.Limit) (all []engine.Limit) {
	rates := limit.Rates()
	if len(rates) != 1 || rates[0].Months != 0 {
		return nil
	}
	rate, burst := rates[0], limit.Capacity()
	others := []engine.Limit{
		rule.TokenBucket(rate, rule.Burst(burst)), rule.FixedWindow(rate), rule.SlidingWindow(rate), rule.SlidingLog(rate),
	}
	if !slices.ContainsFunc(others, func(l engine.Limit) bool { return l.Algorithm() == limit.Algorithm() }) {
		return nil
	}
	all = append(all, limit)
	for _, other := range others {
		if other.Algorithm() != limit.Algorithm() && other.Err() == nil {
			all = append(all, other)
		}
	}
	return all
}

// counter is one of a policy's limits for one key, with the requests that were charged to it.
type counter struct {
	limit    engine.Limit
	text     string // the limit as text
	variants []engine.Limit
}

// alternatives decides the recorded requests again with each algorithm. A request's tag is the index of its charge.
func alternatives(c *policy.Config, t *tally) {
	groups := t.recorded.Group(len(t.keys.all))
	workers := runtime.GOMAXPROCS(0)
	parts := make([]map[string]*[]Alternative, workers)
	var running sync.WaitGroup
	for n := range workers {
		from, to := n*len(t.keys.all)/workers, (n+1)*len(t.keys.all)/workers
		running.Go(func() { parts[n] = alternativesOf(c, t.keys.all, groups, from, to) })
	}
	running.Wait()
	for i := range t.policies {
		p := &t.policies[i]
		for _, part := range parts {
			p.addAlternatives(part[p.Name])
		}
		sortAlternatives(p.Alternatives)
	}
}

// addAlternatives adds the counts in all, which cover some of the keys, to the policy's alternatives.
func (p *PolicyReport) addAlternatives(all *[]Alternative) {
	if all == nil {
		return
	}
	for _, a := range *all {
		to := find(&p.Alternatives, a.Limit, a.Algorithm, a.Own)
		to.Denied += a.Denied
		to.Keys += a.Keys
		to.Requests += a.Requests
	}
}

// alternativesOf counts, by policy, how many requests of keys[from:to] each algorithm denies.
func alternativesOf(c *policy.Config, keys []key, groups *series.Groups, from, to int) map[string]*[]Alternative {
	known := map[engine.Limit]counter{}
	results := map[string]*[]Alternative{}
	memo := limitsMemo{config: c, charges: chargesOf(c), same: !hasOverrides(c), known: map[uint64]map[string]map[engine.Limit][]charged{}}
	for place := from; place < to; place++ {
		times := groups.Times(place)
		for name, limits := range memo.of(&keys[place]) {
			if results[name] == nil {
				results[name] = &[]Alternative{}
			}
			for limit, charges := range limits {
				of, ok := known[limit]
				if !ok {
					of = counter{limit: limit, text: limit.String(), variants: variants(limit)}
					known[limit] = of
				}
				of.decide(groups, place, times, charges, results[name])
			}
		}
	}
	return results
}

// decide decides the key's requests with each variant, and adds the numbers of requests and denials to the list to. The
// argument place is the key's index.
func (c *counter) decide(groups *series.Groups, place int, times []int64, charges []charged, to *[]Alternative) {
	requests, units := int64(0), int64(0)
	costOf := func(i int) (cost int64, ok bool) {
		tag, recorded := groups.Of(place, i)
		at := slices.IndexFunc(charges, func(c charged) bool { return c.charge == tag })
		if at < 0 {
			return 0, false
		}
		if recorded == ownCost {
			return charges[at].cost, true
		}
		return int64(recorded) - givenCost, true
	}
	for i := range times {
		if cost, ok := costOf(i); ok {
			requests++
			units += cost
		}
	}
	for _, variant := range c.variants {
		a := find(to, c.text, variant.Algorithm().String(), variant.Algorithm() == c.limit.Algorithm())
		a.Requests += requests
		if units <= series.Free(variant) {
			continue
		}
		d, denied := series.NewDecider(variant), int64(0)
		for i, now := range times {
			if cost, ok := costOf(i); ok && !d.Allow(now, cost) {
				denied++
			}
		}
		if a.Denied += denied; denied > 0 {
			a.Keys++
		}
	}
}

// find returns the entry in all for a variant of a limit. If all contains no such entry, it appends one.
func find(all *[]Alternative, limit, algorithm string, own bool) *Alternative {
	i := slices.IndexFunc(*all, func(a Alternative) bool { return a.Limit == limit && a.Algorithm == algorithm })
	if i < 0 {
		i = len(*all)
		*all = append(*all, Alternative{Limit: limit, Algorithm: algorithm, Own: own})
	}
	return &(*all)[i]
}

// sortAlternatives sorts alternatives by their limit as text. For each limit, the policy's own algorithm comes first.
func sortAlternatives(all []Alternative) {
	slices.SortStableFunc(all, func(a, b Alternative) int {
		switch {
		case a.Limit != b.Limit && a.Limit < b.Limit:
			return -1
		case a.Limit != b.Limit:
			return 1
		case a.Own != b.Own && a.Own:
			return -1
		case a.Own != b.Own:
			return 1
		default:
			return 0
		}
	})
}

// recordedCost returns the recorded form of a charge's cost.
func recordedCost(item *route.Item) uint16 {
	if !item.HasCost {
		return ownCost
	}
	return uint16(min(item.Cost, 1<<16-1-givenCost)) + givenCost
}
