package simulate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
)

// maxDetailed is the maximum number of denied keys whose policies and User-Agents are recorded.
const maxDetailed = 50_000

// PolicyCount is the number of a key's requests that a policy denied.
type PolicyCount struct {
	Policy string `json:"policy"`
	Count  int64  `json:"count"`
}

// KeyReport holds the results for one key.
type KeyReport struct {
	Key      string        `json:"key"`
	Requests int64         `json:"requests"`
	Denied   int64         `json:"denied"`
	By       []PolicyCount `json:"by,omitempty"`
	// Agent is the User-Agent of the first denied request.
	Agent string `json:"agent,omitempty"`
}

// key holds the data that is kept for every key.
type key struct {
	text             string
	requests, denied int64
	detail           *detail
}

// detail holds the data that is kept for a denied key.
type detail struct {
	by    map[string]int64
	agent string
}

// keys counts requests and denials by key, for at most the first most keys. It counts the requests from other keys
// together.
type keys struct {
	places   map[string]int32
	all      []key
	detailed int
	most     int   // maximum number of keys kept
	rest     int64 // number of requests from all other keys
}

func newKeys(most int) keys {
	return keys{places: map[string]int32{}, most: most}
}

// add counts an answer under the key of its charge with index i. If several charges have the same key, it counts the
// request only once for that key. It counts a denial only for the key of the limit that denied.
func (k *keys) add(q *accesslog.Request, a *Answer, i int) {
	name := a.items[i].Key
	if slices.ContainsFunc(a.items[:i], func(earlier route.Item) bool { return earlier.Key == name }) {
		return
	}
	place, ok := k.places[name]
	if !ok {
		if len(k.all) >= k.most {
			k.rest++
			return
		}
		place = int32(len(k.all))
		text := strings.Clone(name)
		k.places[text] = place
		k.all = append(k.all, key{text: text})
	}
	at := &k.all[place]
	at.requests++
	if a.Allowed || a.Err != nil || name != a.Key {
		return
	}
	at.denied++
	if at.detail == nil {
		if k.detailed >= maxDetailed {
			return
		}
		k.detailed++
		at.detail = &detail{by: map[string]int64{}, agent: strings.Clone(q.Agent[:min(len(q.Agent), 200)])}
	}
	at.detail.by[a.Policy]++
}

// report returns the counts of a key in the form of the report.
func (at *key) report() KeyReport {
	r := KeyReport{Key: at.text, Requests: at.requests, Denied: at.denied}
	if d := at.detail; d != nil {
		r.By, r.Agent = counts(d.by), d.agent
	}
	return r
}

// deniedMost returns up to n keys with the most denials, and the number of keys with any denials.
func (k *keys) deniedMost(n int) (list []KeyReport, denied int64) {
	var top []*key
	for i := range k.all {
		if at := &k.all[i]; at.denied > 0 {
			denied++
			top = append(top, at)
		}
	}
	slices.SortFunc(top, func(a, b *key) int { return cmp.Or(cmp.Compare(b.denied, a.denied), cmp.Compare(a.text, b.text)) })
	for _, at := range top[:min(len(top), n)] {
		list = append(list, at.report())
	}
	return list, denied
}

// counts returns the policies' counts in descending order.
func counts(of map[string]int64) (list []PolicyCount) {
	for name, n := range of {
		list = append(list, PolicyCount{name, n})
	}
	slices.SortFunc(list, func(a, b PolicyCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Policy, b.Policy))
	})
	return list
}
