package page

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Markdown writes a table of each gate's goodput and p99 latency, followed by the known faults. The goodput is a
// percentage of the best fixed limit's goodput.
func Markdown(w io.Writer, r *Report) error {
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
func (r *Report) table(b *strings.Builder) {
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
		fmt.Fprintf(b, "| %s | %d: %s, %s", result.Name, result.Best.Limit, percent(result.Best.Row.Goodput), ms(result.Best.Row.P99))
		for _, gate := range gates {
			b.WriteString(" | ")
			for _, row := range result.Rows {
				if row.Gate == gate {
					fmt.Fprintf(b, "%.0f, %s", row.OfBest*100, ms(row.P99))
				}
			}
		}
		b.WriteString(" |\n")
	}
}
