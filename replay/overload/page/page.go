// Package page presents the results of scenarios, as a self-contained HTML file and as tables in Markdown.
//
//	page.go     the HTML file (curves.go: its drawings)
//	markdown.go the tables
package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"

	"github.com/headgate/headgate/replay/chart"
	"github.com/headgate/headgate/replay/overload/scenario"
)

// Report holds the results of a comparison.
type Report struct {
	Seeds   int
	Results []*scenario.Result
	Faults  []Fault
}

// Fault is a known fault with its measured figure.
type Fault struct {
	scenario.Fault

	Value float64
	Shown bool
}

// New returns a report. It includes the faults whose scenarios ran.
func New(seeds int, results []*scenario.Result) *Report {
	r := &Report{Seeds: seeds, Results: results}
	for _, f := range scenario.Faults() {
		for _, result := range results {
			if result.Name != f.Scenario {
				continue
			}
			for _, row := range result.Rows {
				if row.Gate == f.Gate {
					value, shown := f.Shown(row)
					r.Faults = append(r.Faults, Fault{f, value, shown})
				}
			}
		}
	}
	return r
}

//go:embed page.html.tmpl
var text string

var tmpl = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":   func() template.CSS { return chart.Style + style },
	"percent": percent, "ms": ms, "number": number, "limits": limits,
	"limit":   func(r *scenario.Result) template.HTML { return drawn(limitCurves(r)) },
	"goodput": func(r *scenario.Result) template.HTML { return drawn(goodputCurves(r)) },
	"color":   func(i int) int { return i % chart.Colors },
}).Parse(text))

// drawn marks a drawing as markup. Package chart has escaped its text.
func drawn(svg string) template.HTML { return template.HTML(svg) } //nolint:gosec // see above

// HTML writes the report as one self-contained file.
func HTML(w io.Writer, r *Report) error { return tmpl.Execute(w, r) }

func percent(share float64) string { return strconv.FormatFloat(share*100, 'f', 1, 64) }

func ms(us int64) string { return strconv.FormatInt(us/1000, 10) }

func number(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// limits describes how the limit changed. It returns "" if the gate has no limit.
func limits(r *scenario.Row) string {
	if r.Early == 0 && r.Late == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f → %.0f", r.Early, r.Late)
}

const style = `*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:36px 24px 64px}h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:44px 0 4px}h3{font-size:14px;margin:16px 0 4px;color:var(--soft);font-weight:560}
p{margin:4px 0 10px}.soft{color:var(--soft)}.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13.5px}
th{font-weight:560;color:var(--soft);text-align:left;border-bottom:1px solid var(--rule);vertical-align:bottom}td,th{padding:5px 12px 5px 0}td{border-bottom:1px solid var(--rule)}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}tr.ours td:first-child{font-weight:620}tr.best td{background:var(--mark)}td:first-child{white-space:nowrap}th.n{white-space:normal}td.bad{color:var(--denied)}
svg{display:block;width:100%;height:auto}.figure{background:var(--card);border:1px solid var(--rule);border-radius:10px;padding:8px 12px;margin:6px 0}
i.dot{display:inline-block;width:10px;height:10px;border-radius:5px;background:var(--c);margin-right:7px}footer{margin-top:48px;color:var(--soft);font-size:13px}a{color:inherit}
nav a{margin-right:14px;white-space:nowrap}
`
