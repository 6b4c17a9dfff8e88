package servicetest

import (
	"context"
	"errors"
	"testing"
	_ "time/tzdata"

	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/service"
)

// direct is a service without a front end.
type direct struct{ service *service.Service }

func (d direct) Do(_ *testing.T, r Request) Answer {
	q, ok := r.Decide()
	if !ok {
		return Answer{Failed: true, Code: service.WrongVerb}
	}
	answers := make([]decide.Response, 1)
	d.service.Do(context.Background(), service.RESP, []decide.Request{q}, answers)
	a := &answers[0]
	if coded := (*service.Error)(nil); errors.As(a.Err, &coded) {
		return Answer{Failed: true, Code: coded.Code}
	}
	return OfResponse(r.Kind, a)
}

func TestServiceAnswersTheSuite(t *testing.T) {
	Run(t, func(_ *testing.T, s *service.Service) Front { return direct{s} })
}
