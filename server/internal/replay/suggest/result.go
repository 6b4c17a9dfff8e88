package suggest

import "time"

// Window is a length of time for counting requests.
type Window struct {
	Name   string
	Length time.Duration
}

// Windows are the windows that a profile covers.
var Windows = [...]Window{
	{"1 second", time.Second}, {"10 seconds", 10 * time.Second}, {"1 minute", time.Minute}, {"1 hour", time.Hour}, {"1 day", 24 * time.Hour},
}

// The indices of the windows in [Windows].
const (
	inSecond = iota
	inTenSeconds
	inMinute
	inHour
	inDay
)

// longer contains the indices of the windows where keys above a wide gap are outliers: see standOut.
var longer = []int{inMinute, inHour, inDay}

// Percentiles describes how the keys' maximum numbers of requests in windows of one length are distributed.
type Percentiles struct {
	Window string `json:"window"`
	// P50 is the value that half of the keys do not exceed. P90 and P99 are the values for 90 % and 99 % of them.
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p99_9"`
	Max  int64 `json:"max"`
}

// KeyProfile is the activity of one key.
type KeyProfile struct {
	Key      string `json:"key"`
	Requests int64  `json:"requests"`
	// Most are the maximum numbers of requests in any window of each length, in the order of Windows.
	Most [len(Windows)]int64 `json:"most"`
	// Agents is the approximate number of different User-Agents in the key's requests. Many can mean many people behind
	// one address, or one client that changes its own.
	Agents int64 `json:"agents"`
	// From and To are the times of the key's first and last request, in µs since 1970.
	From int64 `json:"from_us"`
	To   int64 `json:"to_us"`
	// Why explains why the key is an outlier. It is "" if it is none.
	Why string `json:"why,omitempty"`
	// Denied is the number of the key's requests that the suggestion denies.
	Denied int64 `json:"denied"`
}

// MostInMinute returns the maximum number of requests in any minute.
func (k *KeyProfile) MostInMinute() int64 { return k.Most[inMinute] }

// Suggestion is the suggested limit, with the reasons for it.
type Suggestion struct {
	Policy string `json:"policy"`
	Limit  string `json:"limit"`
	Rate   string `json:"rate"`
	Burst  int64  `json:"burst"`
	// Why explains the limit in whole sentences.
	Why []string `json:"why"`
}

// Effect describes what the suggestion would have denied of some keys' requests in the log.
type Effect struct {
	Keys     int64 `json:"keys"`
	Requests int64 `json:"requests"`
	// DeniedKeys is the number of keys with denied requests.
	DeniedKeys int64 `json:"denied_keys"`
	Denied     int64 `json:"denied"`
}

func (e *Effect) add(p *profile) {
	e.Keys++
	e.Requests += p.requests
	e.Denied += p.denied
	if p.denied > 0 {
		e.DeniedKeys++
	}
}

// Result holds the suggestion for a log.
type Result struct {
	Key      []string `json:"key"`
	Requests int64    `json:"requests"`
	// NoKey is the number of requests without a key. Other is the number of requests without a route.
	NoKey int64 `json:"no_key,omitempty"`
	Other int64 `json:"not_matched,omitempty"`
	Keys  int64 `json:"keys"`
	// Notes are the assumptions of the suggestion, in whole sentences.
	Notes []string `json:"notes"`

	Percentiles []Percentiles `json:"percentiles"`
	// Outliers are the keys that send far more requests than the others.
	Outliers []KeyProfile `json:"outliers"`
	// Busiest are the keys with the most requests, outliers or not.
	Busiest    []KeyProfile `json:"busiest"`
	Suggestion Suggestion   `json:"suggestion"`
	// OfOutliers and OfOthers are the suggestion's effect on the outliers and on the other keys.
	OfOutliers Effect `json:"of_outliers"`
	OfOthers   Effect `json:"of_others"`
}
