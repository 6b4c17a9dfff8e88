package suggest

import (
	"math"
	"math/bits"
	"time"
)

// profile is the activity of one key.
type profile struct {
	requests int64
	most     [len(Windows)]int64
	minutes  int64  // the number of clock minutes with requests
	seconds  int64  // the number of clock seconds with requests
	agents   uint64 // a set of 64 bits, one for each hash of a User-Agent
	denied   int64  // by the suggestion
	outlier  bool
	alone    bool // an outlier because of the gap to the next key
}

// profileOf computes a key's exact maximum number of requests in any window. A window is a half-open span that ends
// with one of the requests.
func profileOf(times []int64) (p profile) {
	p.requests = int64(len(times))
	for w := range Windows {
		p.most[w] = mostIn(times, Windows[w].Length)
	}
	p.minutes, p.seconds = clockSpans(times, time.Minute), clockSpans(times, time.Second)
	return p
}

// clockSpans returns the number of clock minutes, or of clock spans of another length, that contain any of the times.
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

// mostIn returns the largest number of times that fall into one window of the given length. The times must be
// sorted.
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

// distinctAgents estimates the number of a key's User-Agents by linear counting over 64 bits.
func (p *profile) distinctAgents() int64 {
	empty := 64 - bits.OnesCount64(p.agents)
	if empty == 0 {
		empty = 1 // all bits set: about 266 or more
	}
	return int64(math.Round(64 * math.Log(64/float64(empty))))
}

// profiles computes the profile of each key.
func profiles(times [][]int64, agents []uint64) []profile {
	all := make([]profile, len(times))
	parallel(len(all), func(i int) {
		all[i] = profileOf(times[i])
		all[i].agents = agents[i]
	})
	return all
}

// percentiles describes the keys for each window.
func percentiles(all []profile) []Percentiles {
	list := make([]Percentiles, len(Windows))
	values := make([]int64, len(all))
	for w := range Windows {
		for i := range all {
			values[i] = all[i].most[w]
		}
		list[w] = Percentiles{
			Window: Windows[w].Name, P50: upTo(values, 0.5), P90: upTo(values, 0.1), P99: upTo(values, 0.01), P999: upTo(values, 0.001), Max: upTo(values, 0),
		}
	}
	return list
}
