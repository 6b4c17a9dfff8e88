package page

import (
	"fmt"
	"strconv"
	"time"

	"github.com/headgate/headgate/replay/chart"
	"github.com/headgate/headgate/replay/overload/scenario"
)

// highest is the highest limit that is drawn. A gate that multiplies a rate by a latency can exceed any scale.
const highest = 250

// pairs returns the mean of each pair of adjacent values, to halve the size of a drawing.
func pairs(values []float64) []float64 {
	half := make([]float64, 0, len(values)/2)
	for i := 0; i+1 < len(values); i += 2 {
		half = append(half, (values[i]+values[i+1])/2)
	}
	return half
}

// limitCurves draws the limits over time, for the first seed.
func limitCurves(r *scenario.Result) string {
	lines, most := make([]chart.Line, len(r.Rows)), 30.0
	for i, row := range r.Rows {
		lines[i].Name = row.Gate
		if row.Early == 0 && row.Late == 0 && row.Variation == 0 {
			continue
		}
		lines[i].Values = pairs(row.Sample.Limits())
		for _, v := range lines[i].Values {
			most = max(most, min(v*1.05, highest))
		}
	}
	return chart.Lines("Limit of "+r.Name+" over time", lines, int64(most), labels(r))
}

// goodputCurves draws the number of calls per second that succeeded in time, for the first seed.
func goodputCurves(r *scenario.Result) string {
	lines, most := make([]chart.Line, len(r.Rows)), 10.0
	for i, row := range r.Rows {
		rates := make([]float64, 0, len(row.Sample.Moments))
		for _, m := range row.Sample.Moments[:len(row.Sample.Moments)-1] { // the last moment also counts calls that end after the run
			rates = append(rates, float64(m.Good)*1e6/float64(row.Sample.Every))
		}
		lines[i] = chart.Line{Name: row.Gate, Values: pairs(rates)}
		for _, v := range lines[i].Values {
			most = max(most, v*1.05)
		}
	}
	return chart.Lines("Goodput of "+r.Name+" over time", lines, int64(most), labels(r))
}

// labels returns the labels of the time axis: five evenly spaced times during a run.
func labels(r *scenario.Result) []string {
	var texts []string
	for i := range 5 {
		at := time.Duration(r.Rows[0].Sample.Length) * time.Microsecond * time.Duration(i) / 4
		texts = append(texts, short(at))
	}
	return texts
}

// short formats a duration in minutes or, below two minutes, in seconds.
func short(d time.Duration) string {
	if d < 2*time.Minute && d%time.Minute != 0 {
		return strconv.Itoa(int(d.Seconds())) + " s"
	}
	return fmt.Sprintf("%.4g min", d.Minutes())
}
