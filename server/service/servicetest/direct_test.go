package servicetest_test

import (
	"context"
	"errors"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/service"
	"github.com/headgate/headgate/server/service/servicetest"
)

// direct is the service without a front end.
type direct struct{ service *service.Service }

func (d direct) Do(_ *testing.T, r servicetest.Request) servicetest.Answer {
	q := decide.Request{
		Kind: r.Kind, Policy: r.Policy, Key: r.Key, Cost: r.Cost, HasCost: r.Cost >= 0,
		MaxDelay: time.Duration(max(r.MaxDelay, 0)) * time.Millisecond,
	}
	switch {
	case r.Kind == engine.OpSettle:
		q.Reservation = r.Handle
	case r.Kind >= engine.OpAcquire && r.Kind <= engine.OpRelease:
		q.ID = r.Handle
	}
	if r.Policy == "" && r.Kind != engine.OpSettle {
		limit := headgate.TokenBucket(headgate.Per(r.Throttle[1], time.Duration(r.Throttle[2])*time.Second), headgate.Burst(r.Throttle[0]))
		if limit.Err() != nil {
			return servicetest.Answer{Failed: true, Code: service.WrongVerb}
		}
		q.Limit = limit
	}
	answers := make([]decide.Response, 1)
	d.service.Do(context.Background(), service.RESP, []decide.Request{q}, answers)
	a := &answers[0]
	if coded := (*service.Error)(nil); errors.As(a.Err, &coded) {
		return servicetest.Answer{Failed: true, Code: coded.Code}
	}
	return servicetest.OfResponse(r.Kind, a)
}

func TestServiceAnswersTheSuite(t *testing.T) {
	servicetest.Run(t, func(_ *testing.T, s *service.Service) servicetest.Front { return direct{s} })
}
