package rule

import (
	"time"

	"github.com/headgate/headgate/engine"
)

// Named sets the limit's name.
func Named(name string) engine.Setting { return engine.Setting{Field: "name", Word: name} }

// Burst sets how many units an idle key can spend at once.
func Burst(units int64) engine.Setting { return engine.Setting{Field: "burst", Units: units} }

// AllowDebt sets the debt of a token bucket.
func AllowDebt(units int64) engine.Setting { return engine.Setting{Field: "debt", Units: units} }

// NextPays makes a request's cost delay the next request instead of the request itself.
func NextPays() engine.Setting { return engine.Setting{Field: "next_pays"} }

// MaxWait sets a pacer's longest delay.
func MaxWait(longest time.Duration) engine.Setting {
	return engine.Setting{Field: "max_wait", Span: longest}
}

// MaxQueue sets a pacer's longest queue.
func MaxQueue(units int64) engine.Setting { return engine.Setting{Field: "max_queue", Units: units} }

// Weight sets a key's weight under a fair share.
func Weight(times int) engine.Setting { return engine.Setting{Field: "weight", Units: int64(times)} }

// Block sets the length of the first block.
func Block(first time.Duration) engine.Setting { return engine.Setting{Field: "block", Span: first} }

// MaxBlock sets the longest block.
func MaxBlock(longest time.Duration) engine.Setting {
	return engine.Setting{Field: "max_block", Span: longest}
}

// Forget sets how long it takes a penalty to forget one block.
func Forget(after time.Duration) engine.Setting { return engine.Setting{Field: "forget", Span: after} }

// Align sets when fixed windows start.
func Align(to string) engine.Setting { return engine.Setting{Field: "align", Word: to} }

// Segments sets the number of segments in a sliding window.
func Segments(k int) engine.Setting { return engine.Setting{Field: "segments", Units: int64(k)} }

// SegmentLength sets the length of the segments instead of their number.
func SegmentLength(length time.Duration) engine.Setting {
	return engine.Setting{Field: "segment", Span: length}
}

// Weighted counts the oldest segment by the part that the window still covers.
func Weighted() engine.Setting { return engine.Setting{Field: "variant", Word: "weighted"} }

// Strict counts the oldest segment in full.
func Strict() engine.Setting { return engine.Setting{Field: "variant", Word: "strict"} }

// Lenient ignores the oldest segment.
func Lenient() engine.Setting { return engine.Setting{Field: "variant", Word: "lenient"} }

// And adds windows to a sliding window or sliding log.
func And(rates ...engine.Rate) engine.Setting {
	return engine.Setting{Field: "windows", Rates: rates}
}

// LeaseTime sets how long units are held without a renewal.
func LeaseTime(lease time.Duration) engine.Setting {
	return engine.Setting{Field: "lease", Span: lease}
}

// CountDenied also counts denied requests.
func CountDenied() engine.Setting { return engine.Setting{Field: "count_denied"} }
