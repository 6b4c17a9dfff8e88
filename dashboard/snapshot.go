package dashboard

import (
	"time"

	"github.com/headgate/headgate/dashboard/topkeys"
	"github.com/headgate/headgate/internal/adminapi"
	"github.com/headgate/headgate/internal/outcomes"
)

// topShown is the number of top keys of each kind in a snapshot.
const topShown = 20

// stand returns the snapshot for the second that s describes.
func (p *Program) stand(s *adminapi.Second, now time.Time) *adminapi.Snapshot {
	top := func(of topkeys.Events) adminapi.TopKeys {
		report := p.top.Top(topkeys.Query{Of: of, Now: true, Most: topShown}, now)
		return report.JSON(of)
	}
	store := adminapi.Store{Address: "of this program", Outages: p.outages}
	for _, counts := range p.last {
		store.Unknown += int64(counts[outcomes.Unknown][0])
	}
	if !p.away.IsZero() {
		store.Away, store.AwayFor = true, now.Sub(p.away).Milliseconds()+1
	}
	return &adminapi.Snapshot{
		Second: *s, Modes: s.Modes, TopRequests: top(topkeys.Requests), TopDenials: top(topkeys.Denials), Store: store,
		Processes: adminapi.Processes{Members: []string{}}, Generation: 1, PolicyCount: len(p.shown()),
	}
}
