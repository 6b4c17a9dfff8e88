package gate

import "math"

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(max(len(x), 1))
}

// variation returns the coefficient of variation, or 0 if there are no values.
func variation(x []float64) float64 {
	m, sum := mean(x), 0.0
	if m == 0 {
		return 0
	}
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return math.Sqrt(sum/float64(len(x))) / m
}

// correlation returns Pearson's coefficient for two lists of equal length, or 0 if one of them is constant.
func correlation(x, y []float64) float64 {
	mx, my := mean(x), mean(y)
	xy, xx, yy := 0.0, 0.0, 0.0
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy / math.Sqrt(xx*yy)
}
