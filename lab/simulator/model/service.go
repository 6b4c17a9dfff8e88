package model

import (
	"math"
	"math/rand/v2"
)

// Shape is a distribution of service times.
type Shape uint8

const (
	// Exact makes every service time equal to the mean.
	Exact Shape = iota
	// Exponential is the exponential distribution, whose coefficient of variation is 1.
	Exponential
	// Lognormal is the log-normal distribution with the sigma Service.Spread.
	Lognormal
	// Bimodal makes a fraction Service.Share of the requests take Service.Spread times as long as the others.
	Bimodal
)

// Service is the distribution of the time that a worker needs for one request.
type Service struct {
	Shape Shape
	// Mean is the mean service time in µs.
	Mean   float64
	Spread float64
	Share  float64
}

// Draw draws a service time, in µs, from the distribution. It is at least 1 µs.
func (s *Service) Draw(r *rand.Rand) float64 {
	t := s.Mean
	switch s.Shape {
	case Exact:
	case Exponential:
		t *= r.ExpFloat64()
	case Lognormal:
		// exp(σ²/2) is the mean of a lognormal distribution with μ = 0.
		t *= math.Exp(s.Spread*r.NormFloat64() - s.Spread*s.Spread/2)
	case Bimodal:
		t /= 1 + s.Share*(s.Spread-1)
		if r.Float64() < s.Share {
			t *= s.Spread
		}
	}
	return max(1, t)
}

// Pause stops all workers at the start of every period, like a garbage collector. Every is the length of the period,
// and For is the length of the pause, both in µs. The zero Pause means no pauses.
type Pause struct{ Every, For int64 }

// finish returns the time when a piece of work ends if it starts now and takes the given number of µs outside pauses.
func (p Pause) finish(now, work int64) int64 {
	if p.For <= 0 || p.Every <= p.For {
		return now + work
	}
	position := now % p.Every
	if position < p.For {
		now, position = now+p.For-position, p.For
	}
	left := p.Every - position
	if work <= left {
		return now + work
	}
	running := p.Every - p.For
	work -= left
	whole := (work - 1) / running
	return now + left + whole*p.Every + p.For + work - whole*running
}
