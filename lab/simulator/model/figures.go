package model

import "math"

// Sum returns the counts for all phases together.
func (t *Tally) Sum() (sum Count) {
	for _, p := range t.Phases {
		sum.Offered += p.Offered
		sum.Good += p.Good
		sum.Denied += p.Denied
		sum.Wrong += p.Wrong
	}
	return sum
}

// Limits returns the mean limit in each part of the run. If a part contains no tick, its limit is the previous part's.
func (t *Tally) Limits() []float64 {
	limits := make([]float64, len(t.Moments))
	last := 0.0
	for i, m := range t.Moments {
		if m.Ticks > 0 {
			last = m.Limit / float64(m.Ticks)
		}
		limits[i] = last
	}
	return limits
}

// LimitBetween returns the limit's mean and coefficient of variation between two moments of the run, each given as a
// fraction of the run's length.
func (t *Tally) LimitBetween(from, to float64) (mean, variation float64) {
	n := float64(len(t.Moments))
	sum, squares, ticks := 0.0, 0.0, 0.0
	for _, m := range t.Moments[int(from*n):max(int(from*n)+1, int(to*n))] {
		sum, squares, ticks = sum+m.Limit, squares+m.Squares, ticks+float64(m.Ticks)
	}
	if sum == 0 {
		return 0, 0
	}
	mean = sum / ticks
	return mean, math.Sqrt(max(0, squares/ticks-mean*mean)) / mean
}

// PhaseSpan returns the start and end of a phase, as fractions of the run.
func (t *Tally) PhaseSpan(i int) (from, to float64) {
	end := t.Length
	if i+1 < len(t.Begins) {
		end = t.Begins[i+1]
	}
	return float64(t.Begins[i]) / float64(t.Length), float64(end) / float64(t.Length)
}

// Jain returns Jain's fairness index over the tenants, for the ratio of good calls to the max-min fair share. 1 means
// perfectly fair, and 1/n means that a single tenant of n gets everything. https://arxiv.org/abs/cs/9809099
func (t *Tally) Jain() float64 {
	var demands []float64
	good := 0.0
	for _, s := range t.Tenants {
		demands = append(demands, float64(s.Offered))
		good += float64(s.Good)
	}
	fair := MaxMin(demands, good)
	sum, squares, n := 0.0, 0.0, 0.0
	for i, s := range t.Tenants {
		if fair[i] > 0 {
			x := float64(s.Good) / fair[i]
			sum, squares, n = sum+x, squares+x*x, n+1
		}
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (n * squares)
}

// MaxMin divides an amount among demands. No demand gets more than it needs, and the rest is divided equally among the
// others.
func MaxMin(demands []float64, amount float64) []float64 {
	fair := make([]float64, len(demands))
	done := make([]bool, len(demands))
	for left := len(demands); left > 0; {
		share, served := amount/float64(left), false
		for i, d := range demands {
			if !done[i] && d <= share {
				fair[i], done[i], served = d, true, true
				amount -= d
				left--
			}
		}
		if !served {
			for i := range fair {
				if !done[i] {
					fair[i] = share
				}
			}
			return fair
		}
	}
	return fair
}
