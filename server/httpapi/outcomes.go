package httpapi

import (
	"fmt"

	"github.com/headgate/headgate/engine/algo"
)

// outcomes reports how earlier requests have ended, for a policy whose rate adapts.
type outcomes struct {
	Good       int64 `json:"good"`
	Bad        int64 `json:"bad"`
	RetryAfter int64 `json:"retry_after_ms"`
}

const maxRetryAfter = algo.MaxReportedPause / 1000 // in ms

func (o *outcomes) report() (*algo.Report, error) {
	for _, n := range []struct {
		name    string
		n, most int64
	}{{"good", o.Good, algo.MaxReported}, {"bad", o.Bad, algo.MaxReported}, {"retry_after_ms", o.RetryAfter, maxRetryAfter}} {
		if n.n < 0 || n.n > n.most {
			field := "outcomes." + n.name
			return nil, badField(field, fmt.Sprintf("%s is %d; accepted: 0 to %d", field, n.n, n.most))
		}
	}
	return &algo.Report{Good: o.Good, Bad: o.Bad, Pause: o.RetryAfter * 1000}, nil
}
