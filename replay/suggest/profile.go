package suggest

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/headgate/headgate/replay/series"
	"github.com/headgate/headgate/replay/simulate"
)

// profile is what one key did.
type profile struct {
	requests int64
	most     [len(Windows)]int64
	minutes  int64  // in how many minutes of the clock it sent something
	seconds  int64  // in how many seconds
	agents   uint64 // a bit for each hash of a User-Agent, of 64
	persons  int64  // how many values of User-Agent look like people; 0 if too few do
	rotates  bool   // it has many values of User-Agent, and they do not look like people
	// busiest is the most requests of any one person; of a key that is one, most.
	busiest [len(Windows)]int64
	refused int64
	class   class
}

// class is what a key is taken for.
type class uint8

const (
	behaved class = iota
	outlier
	shared // behaves, and is many people
)

// profileOf returns the most requests of a key in any window, exactly: as many as lie in
// the span that ends with one of them, without what lies at its very beginning.
func profileOf(times []int64) (p profile) {
	p.requests = int64(len(times))
	for w := range Windows {
		p.most[w] = mostIn(times, Windows[w].Length)
	}
	p.minutes, p.seconds = clockSpans(times, time.Minute), clockSpans(times, time.Second)
	return p
}

// clockSpans returns in how many minutes, or other spans of the clock, the instants are.
func clockSpans(times []int64, length time.Duration) (n int64) {
	last := int64(math.MinInt64)
	for _, t := range times {
		if at := t / length.Microseconds(); at != last {
			last = at
			n++
		}
	}
	return n
}

// mostIn returns the most instants in any window of a length.
func mostIn(times []int64, length time.Duration) (most int64) {
	from, span := 0, length.Microseconds()
	for to, t := range times {
		for times[from] <= t-span {
			from++
		}
		most = max(most, int64(to-from+1))
	}
	return most
}

// distinctAgents returns about how many values of User-Agent a key has: linear counting
// over 64 bits.
func (p *profile) distinctAgents() int64 {
	empty := 64 - bits.OnesCount64(p.agents)
	if empty == 0 {
		empty = 1 // some 266, or more
	}
	return int64(math.Round(64 * math.Log(64/float64(empty))))
}

// people returns how many people a key is taken for.
func (p *profile) people() int64 {
	if n := p.persons; n > 0 {
		return n
	}
	return 1
}

// profiles returns what each key did.
func profiles(g *series.Groups, agents []uint64) []profile {
	all := make([]profile, g.Keys())
	parallel(len(all), func(_, from, to int) {
		for i := from; i < to; i++ {
			all[i] = profileOf(g.Times(i))
			all[i].agents = agents[i]
			all[i].setPeople(g, i)
		}
	})
	return all
}

// percentiles describes the keys window by window. total has the most requests of all keys
// together.
func percentiles(all []profile, total [len(Windows)]int64) []Percentiles {
	list := make([]Percentiles, len(Windows))
	values := make([]int64, len(all))
	for w := range Windows {
		p := &list[w]
		p.Window, p.Total = Windows[w].Name, total[w]
		for i := range all {
			values[i] = all[i].most[w]
			if all[i].class != outlier {
				p.Behaved = max(p.Behaved, values[i])
			}
		}
		slices.Sort(values)
		p.P50, p.P90, p.P99, p.P999 = quantile(values, 0.5), quantile(values, 0.9), quantile(values, 0.99), quantile(values, 0.999)
		p.Max = quantile(values, 1)
	}
	return list
}

// quantile returns the least of sorted values that a share of them does not exceed.
func quantile(sorted []int64, share float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, min(len(sorted)-1, int(math.Ceil(share*float64(len(sorted))))-1))]
}

// histogram counts keys by the most requests in a minute.
func histogram(all []profile) []simulate.Bar {
	var bars simulate.Bars
	for i := range all {
		bars.Add(all[i].most[inMinute], all[i].refused > 0)
	}
	return bars
}
