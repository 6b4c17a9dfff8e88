package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/lab/simulator/scenario"
)

// report holds the results of a comparison.
type report struct {
	Seeds   int
	Results []*scenario.Result
	Faults  []fault
}

// fault is a known fault with its measured figure.
type fault struct {
	scenario.Fault

	Value float64
	Shown bool
}

// newReport returns a report. It includes the faults whose scenarios ran.
func newReport(seeds int, results []*scenario.Result) *report {
	r := &report{Seeds: seeds, Results: results}
	for _, f := range scenario.Faults() {
		for _, result := range results {
			if result.Name != f.Scenario {
				continue
			}
			for _, row := range result.Rows {
				if row.Gate == f.Gate {
					value, shown := f.Shown(row)
					r.Faults = append(r.Faults, fault{f, value, shown})
				}
			}
		}
	}
	return r
}

func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', 1, 64) }

func ms(us int64) string { return strconv.FormatInt(us/1000, 10) }

func number(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// markdown writes a table of each gate's goodput and p99 latency, followed by the known faults. The goodput is a
// percentage of the best fixed limit's goodput.
func markdown(w io.Writer, r *report) error {
	var b strings.Builder
	r.table(&b)
	b.WriteString("\n| gate | known fault | scenario | measured | figure | reported |\n|---|---|---|---|---|---|\n")
	for _, f := range r.Faults {
		value := number(f.Value)
		if !f.Shown {
			value = "not shown: " + value
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", f.Gate, f.Name, f.Scenario, f.Unit, value, f.Source)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// table writes one row per scenario and one column per gate.
func (r *report) table(b *strings.Builder) {
	var gates []string
	for _, result := range r.Results {
		for _, row := range result.Rows {
			if !slices.Contains(gates, row.Gate) {
				gates = append(gates, row.Gate)
			}
		}
	}
	fmt.Fprintf(b, "| scenario | best fixed | %s |\n|---|---%s|\n", strings.Join(gates, " | "), strings.Repeat("|---", len(gates)))
	for _, result := range r.Results {
		fmt.Fprintf(b, "| %s | %d: %s/%s", result.Name, result.Best.Limit, percent(result.Best.Row.Goodput), ms(result.Best.Row.P99))
		for _, gate := range gates {
			b.WriteString(" | ")
			for _, row := range result.Rows {
				if row.Gate == gate {
					fmt.Fprintf(b, "%.0f/%s", row.OfBest*100, ms(row.P99))
				}
			}
		}
		b.WriteString(" |\n")
	}
}
