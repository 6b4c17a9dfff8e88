package suggest

import (
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/replay/simulate"
)

// Window is a length of time over which requests are counted.
type Window struct {
	Name   string
	Length time.Duration
}

// Windows are the lengths of time that a profile has.
var Windows = [...]Window{
	{"1 second", time.Second}, {"10 seconds", 10 * time.Second}, {"1 minute", time.Minute}, {"1 hour", time.Hour}, {"1 day", 24 * time.Hour},
}

// The places of some windows.
const (
	inSecond = iota
	inTenSeconds
	inMinute
	inHour
	inDay
)

// Percentiles describe the keys by the most requests of each in any window of a length.
type Percentiles struct {
	Window string `json:"window"`
	// P50 is what half of the keys do not exceed, and so on.
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p99_9"`
	Max  int64 `json:"max"`
	// Behaved is the most of any key that does not stand out.
	Behaved int64 `json:"max_without_outliers"`
	// Total is the most requests of all keys together.
	Total int64 `json:"total"`
}

// KeyProfile is what one key did.
type KeyProfile struct {
	Key      string `json:"key"`
	Requests int64  `json:"requests"`
	// Most are the most requests in any window, in the order of Windows.
	Most [len(Windows)]int64 `json:"most"`
	// Agents is about how many values of User-Agent its requests have.
	Agents int64 `json:"agents"`
	// From and To are its first and its last request, in µs since 1970.
	From int64 `json:"from_us"`
	To   int64 `json:"to_us"`
	// Did is what it did most.
	Did Did `json:"did"`
	// Why says why the key is listed.
	Why string `json:"why,omitempty"`
	// Refused is how many of its requests the suggestion refuses.
	Refused int64 `json:"refused"`

	place int32
}

// MostInMinute returns the most requests in any minute.
func (k *KeyProfile) MostInMinute() int64 { return k.Most[inMinute] }

// Did is the most frequent path, status and User-Agent of a key, without its first 9 requests. The path
// has {} in the place of ids.
type Did struct {
	Path   string `json:"path,omitempty"`
	Status int    `json:"status,omitempty"`
	Agent  string `json:"agent,omitempty"`
}

// Compared is a limit that was compared with others.
type Compared struct {
	Limit     string `json:"limit"`
	Algorithm string `json:"algorithm"`
	// Outliers is the share of the requests of keys that stand out which the limit
	// refuses; Behaved how many of the other keys it refuses something, and
	// BehavedRequests how many requests of these.
	Outliers        float64 `json:"outliers_refused_share"`
	Behaved         int64   `json:"other_keys_refused"`
	BehavedRequests int64   `json:"other_requests_refused"`
	// Second and Minute are the most that it admits of one key in any second and minute.
	Second int64 `json:"most_in_a_second"`
	Minute int64 `json:"most_in_a_minute"`
	// Bytes is about what a key takes in memory.
	Bytes  int64 `json:"bytes_per_key"`
	Chosen bool  `json:"chosen,omitempty"`

	limit headgate.Limit
}

// Override is another limit for one key.
type Override struct {
	Key   string `json:"key"`
	Limit string `json:"limit"`
	Why   string `json:"why"`

	place int
	limit headgate.Limit
}

// Suggestion is one limit.
type Suggestion struct {
	Policy string `json:"policy"`
	Limit  string `json:"limit"`
	// Algorithm, Rate and Burst are its numbers; Burst is the count of a window.
	Algorithm string `json:"algorithm"`
	Rate      string `json:"rate"`
	Window    string `json:"window"`
	Burst     int64  `json:"burst"`
	// Why are sentences for people.
	Why       []string   `json:"why"`
	Overrides []Override `json:"overrides,omitempty"`
	Compared  []Compared `json:"compared"`

	limit headgate.Limit
}

// Effect is what all suggestions together would have done to the log.
type Effect struct {
	Requests int64 `json:"requests"`
	Refused  int64 `json:"refused"`
	// Outliers are the keys that stand out, OutlierRequests and OutlierRefused their
	// requests.
	Outliers        int64 `json:"outliers"`
	OutlierRequests int64 `json:"outlier_requests"`
	OutlierRefused  int64 `json:"outlier_refused"`
	// Behaved are the other keys.
	Behaved         int64 `json:"others"`
	BehavedRefused  int64 `json:"others_refused"`
	BehavedRequests int64 `json:"other_requests"`
	RequestsRefused int64 `json:"other_requests_refused"`
	// PeakBefore and PeakAfter are the most requests of all keys in any second, with and
	// without the suggestions.
	PeakBefore int64 `json:"most_in_a_second_before"`
	PeakAfter  int64 `json:"most_in_a_second_after"`
}

// Result is what is suggested for a log.
type Result struct {
	Key      []string `json:"key"`
	Requests int64    `json:"requests"`
	// NoKey is how many requests have no key, and Other how many no route.
	NoKey int64 `json:"no_key,omitempty"`
	Other int64 `json:"not_matched,omitempty"`
	Keys  int64 `json:"keys"`
	// Notes are sentences on what the suggestions take for granted.
	Notes []string `json:"notes"`

	Percentiles []Percentiles `json:"percentiles"`
	// Outliers are the keys that stand out, Shared those that look like many people.
	Outliers []KeyProfile `json:"outliers"`
	Shared   []KeyProfile `json:"shared"`
	// Busiest are the keys with the most requests, whatever they are taken for.
	Busiest     []KeyProfile `json:"busiest"`
	Suggestions []Suggestion `json:"suggestions"`
	Effect      Effect       `json:"effect"`
	// Protections says what was asked for, and whether the suggestions reach it.
	Protections []string `json:"protections"`
	// Histogram has how many keys sent how many requests in their busiest minute.
	Histogram []simulate.Bar   `json:"histogram"`
	Traffic   simulate.Traffic `json:"traffic"`
	Heat      simulate.Heat    `json:"heat"`
}
