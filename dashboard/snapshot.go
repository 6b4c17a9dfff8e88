package dashboard

import (
	"time"

	"github.com/headgate/headgate/dashboard/feed"
	"github.com/headgate/headgate/dashboard/topkeys"
	"github.com/headgate/headgate/internal/outcomes"
)

// topShown is how many top keys of each kind a snapshot has.
const topShown = 20

// stand returns the snapshot of a second.
func (p *Program) stand(s *feed.Second, now time.Time) any {
	top := func(of topkeys.Events, by string) topkeys.ReportJSON {
		report := p.top.Top(topkeys.Query{Of: of, Now: true, Most: topShown}, now)
		return report.JSON(by)
	}
	awayFor, unknown := int64(0), uint64(0)
	for _, counts := range p.last {
		unknown += counts[outcomes.Unknown][0]
	}
	if !p.away.IsZero() {
		awayFor = now.Sub(p.away).Milliseconds() + 1
	}
	return struct {
		feed.Second

		Modes      map[string]float64 `json:"modes"`
		Store      object             `json:"store"`
		Requests   topkeys.ReportJSON `json:"top_requests"`
		Refusals   topkeys.ReportJSON `json:"top_refusals"`
		Processes  object             `json:"processes"`
		Generation int                `json:"generation"`
		Policies   int                `json:"policy_count"`
		Changes    int                `json:"change_count"`
	}{
		Second: *s, Modes: s.Modes, Requests: top(topkeys.Requests, "requests"), Refusals: top(topkeys.Refusals, "refusals"),
		Store:      object{"address": "of this program", "away": awayFor > 0, "away_ms": awayFor, "outages": p.outages, "unknown": unknown, "losses": 0},
		Processes:  object{"count": 0, "members": []string{}, "own": "", "leases": nil},
		Generation: 1, Policies: len(p.shown()),
	}
}
