package metrics

import (
	"github.com/headgate/headgate/server/internal/metric"
	"github.com/headgate/headgate/server/internal/service"
)

// Refused is where the counts of requests are that front ends refuse before a decision.
type Refused struct {
	// WrongSecrets returns the number of wrong secrets on a front end.
	WrongSecrets func(from service.FrontEnd) uint64
	// Requests returns the number of requests that a front end has refused for a reason.
	Requests func(from service.FrontEnd, why service.Refusal) uint64
	// Serving reports whether a front end is enabled. A disabled front end gets a series only if it has counted wrong
	// secrets.
	Serving func(from service.FrontEnd) bool
}

// Refusals are the metrics of these requests.
var Refusals = metric.NewTable(
	metric.Row[Refused]{
		Name: "headgate_wrong_secrets_total", Labels: []string{"frontend"},
		Help: "Secrets and tokens from clients that belong to no user.",
		Series: func(r Refused, add func(float64, ...string)) {
			for from := range service.FrontEnds {
				if wrong := r.WrongSecrets(from); wrong > 0 || r.Serving(from) {
					add(float64(wrong), from.String())
				}
			}
		},
	},
	metric.Row[Refused]{
		Name: "headgate_refused_requests_total", Labels: []string{"frontend", "reason"},
		Help: "Requests that were refused before a decision, by reason.",
		Series: func(r Refused, add func(float64, ...string)) {
			for from := range service.FrontEnds {
				for why := range service.RefusalCount {
					if n := r.Requests(from, why); n > 0 {
						add(float64(n), from.String(), why.String())
					}
				}
			}
		},
	},
)
