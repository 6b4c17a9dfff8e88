package model

// Point is a value and the time when it starts to apply.
type Point struct {
	At    int64
	Value float64
}

// Course is a value that changes over time. In a course of steps, each value applies until the next point. A ramp is
// linear between points. The first point's value also applies before it. An empty course is always 0.
type Course struct {
	points []Point
	linear bool
}

// Constant returns a course with one value.
func Constant(value float64) Course { return Course{points: []Point{{0, value}}} }

// Steps returns a course where each value applies until the next point.
func Steps(points ...Point) Course { return Course{points: points} }

// Ramp returns a course that is linear between points.
func Ramp(points ...Point) Course { return Course{points: points, linear: true} }

// Alternating returns a course that is high for the first part of each period and low for the rest, until the end.
func Alternating(high, low float64, part, period, end int64) Course {
	var points []Point
	for at := int64(0); period > 0 && at < end && len(points) < maxPoints; at += period {
		points = append(points, Point{at, high}, Point{at + part, low})
	}
	return Course{points: points}
}

// maxPoints is the maximum number of points in a course.
const maxPoints = 100_000

// reader reads a course at non-decreasing times.
type reader struct {
	Course
	place int
}

func (r *reader) at(now int64) float64 {
	if len(r.points) == 0 {
		return 0
	}
	for r.place+1 < len(r.points) && r.points[r.place+1].At <= now {
		r.place++
	}
	p := r.points[r.place]
	if !r.linear || r.place+1 == len(r.points) || now <= p.At {
		return p.Value
	}
	q := r.points[r.place+1]
	return p.Value + (q.Value-p.Value)*float64(now-p.At)/float64(q.At-p.At)
}

// nextChange returns the time of the next point after now, or -1.
func (r *reader) nextChange(now int64) int64 {
	for i := r.place; i < len(r.points); i++ {
		if r.points[i].At > now {
			return r.points[i].At
		}
	}
	return -1
}
