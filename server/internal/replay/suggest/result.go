package suggest

import (
	"time"

	"github.com/headgate/headgate/engine"
)

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
	// Behaved is the maximum for any well-behaved key.
	Behaved int64 `json:"max_without_outliers"`
	// Total is the maximum for all keys together.
	Total int64 `json:"total"`
}

// KeyProfile is the activity of one key.
type KeyProfile struct {
	Key      string `json:"key"`
	Requests int64  `json:"requests"`
	// Most are the maximum numbers of requests in any window of each length, in the order of Windows.
	Most [len(Windows)]int64 `json:"most"`
	// Agents is the approximate number of different User-Agents in the key's requests.
	Agents int64 `json:"agents"`
	// From and To are the times of the key's first and last request, in µs since 1970.
	From int64 `json:"from_us"`
	To   int64 `json:"to_us"`
	// Did is the key's most frequent path, status and User-Agent.
	Did Did `json:"did"`
	// Why explains why the key is listed.
	Why string `json:"why,omitempty"`
	// Denied is the number of the key's requests that the suggestion denies.
	Denied int64 `json:"denied"`

	place int32
}

// MostInMinute returns the maximum number of requests in any minute.
func (k *KeyProfile) MostInMinute() int64 { return k.Most[inMinute] }

// Did holds a key's most frequent path, status and User-Agent, ignoring its first 9 requests. In the path, {} replaces
// ids.
type Did struct {
	Path   string `json:"path,omitempty"`
	Status int    `json:"status,omitempty"`
	Agent  string `json:"agent,omitempty"`
}

// Compared is a candidate for a suggestion, with the effect that it would have had on its own.
type Compared struct {
	Limit     string `json:"limit"`
	Algorithm string `json:"algorithm"`
	// Outliers is the share of the outliers' requests that the limit denies. Behaved is the number of other keys with
	// denied requests, and BehavedRequests is the number of those requests.
	Outliers        float64 `json:"outliers_denied_share"`
	Behaved         int64   `json:"other_keys_denied"`
	BehavedRequests int64   `json:"other_requests_denied"`
	// Bytes is the approximate memory per key.
	Bytes  int64 `json:"bytes_per_key"`
	Chosen bool  `json:"chosen,omitempty"`

	limit engine.Limit
}

// Override is the limit that a suggestion gives to one key instead of its own.
type Override struct {
	Key   string `json:"key"`
	Limit string `json:"limit"`
	Why   string `json:"why"`

	place int
	limit engine.Limit
}

// Suggestion is one suggested limit, with the reasons for it and the candidates that it was compared with.
type Suggestion struct {
	Policy string `json:"policy"`
	Limit  string `json:"limit"`
	// Algorithm, Rate and Burst are the limit's parameters. For an algorithm with windows, Burst is the count.
	Algorithm string `json:"algorithm"`
	Rate      string `json:"rate"`
	Window    string `json:"window"`
	Burst     int64  `json:"burst"`
	// Why explains the limit in whole sentences.
	Why       []string   `json:"why"`
	Overrides []Override `json:"overrides,omitempty"`
	Compared  []Compared `json:"compared"`

	limit engine.Limit
}

// Effect describes the effect that all suggestions together would have had on the log's requests.
type Effect struct {
	Requests int64 `json:"requests"`
	Denied   int64 `json:"denied"`
	// Outliers is the number of outliers. OutlierRequests is the number of their requests, and OutlierDenied is how
	// many of these are denied.
	Outliers        int64 `json:"outliers"`
	OutlierRequests int64 `json:"outlier_requests"`
	OutlierDenied   int64 `json:"outlier_denied"`
	// Behaved is the number of other keys.
	Behaved         int64 `json:"others"`
	BehavedDenied   int64 `json:"others_denied"`
	BehavedRequests int64 `json:"other_requests"`
	RequestsDenied  int64 `json:"other_requests_denied"`
	// PeakBefore and PeakAfter are the maximum numbers of requests in any second from all keys together, without and
	// with the suggestions.
	PeakBefore int64 `json:"most_in_a_second_before"`
	PeakAfter  int64 `json:"most_in_a_second_after"`
}

// Result holds the suggestions for a log.
type Result struct {
	Key      []string `json:"key"`
	Requests int64    `json:"requests"`
	// NoKey is the number of requests without a key. Other is the number of requests without a route.
	NoKey int64 `json:"no_key,omitempty"`
	Other int64 `json:"not_matched,omitempty"`
	Keys  int64 `json:"keys"`
	// Notes are the assumptions of the suggestions, in whole sentences.
	Notes []string `json:"notes"`

	Percentiles []Percentiles `json:"percentiles"`
	// Outliers are the keys that send far more requests than the others. Shared are the keys that many people seem to
	// use.
	Outliers []KeyProfile `json:"outliers"`
	Shared   []KeyProfile `json:"shared"`
	// Busiest are the keys with the most requests, whatever their class.
	Busiest     []KeyProfile `json:"busiest"`
	Suggestions []Suggestion `json:"suggestions"`
	Effect      Effect       `json:"effect"`
	// Protection says whether the suggestions deny requests of at most the given share of the well-behaved keys.
	Protection string `json:"protection"`
}
