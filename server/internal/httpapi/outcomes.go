package httpapi

import (
	"fmt"

	"github.com/headgate/headgate/engine/algo"
)

// outcomes reports the outcomes of earlier requests, for a policy with an adaptive rate.
type outcomes struct {
	Good       int64 `json:"good"`
	Bad        int64 `json:"bad"`
	RetryAfter int64 `json:"retry_after_ms"`
}

func (o *outcomes) report() (*algo.Report, error) {
	numbers := [3]int64{o.Good, o.Bad, o.RetryAfter}
	for i, f := range algo.ReportFields {
		if n := numbers[i]; n < 0 || n > f.Most {
			field := "outcomes." + f.Name
			return nil, badField(field, fmt.Sprintf("%s is %d; accepted: 0 to %d", field, n, f.Most))
		}
	}
	return algo.ReportOf(numbers), nil
}
