package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/server/internal/replay/chart"
	"github.com/headgate/headgate/server/internal/replay/simulate"
	"github.com/headgate/headgate/server/internal/replay/suggest"
)

// Page is a report about suggestions, about one policies file, or about the differences between two files.
type Page struct {
	Title      string
	Log        *Log
	Suggest    *suggest.Result
	Result     *simulate.Result
	Comparison *simulate.Comparison
	// Config is the suggested policies file, or "".
	Config string
}

//go:embed page.html.tmpl
var pageText string

// page is the template of a report. Text from the log is escaped by html/template or, in drawings, by package chart.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":   func() template.CSS { return chart.Style + pageStyle },
	"grouped": format.Grouped, "counted": format.Counted, "percent": percent, "instant": instant, "size": size, "short": chart.Short,
	"notes": Notes, "notHeld": func() string { return notHeld }, "text": printable, "plain": plainLimit,
	"span":       func(from, to int64) string { return span(to - from) },
	"join":       func(texts []string) string { return strings.Join(texts, ", ") },
	"describe":   func(s suggest.Suggestion) string { return describe(&s) },
	"share":      func(share float64) string { return strconv.FormatFloat(share*100, 'f', 1, 64) + " %" },
	"bar":        bar,
	"traffic":    func(t simulate.Traffic, h simulate.Heat) template.HTML { return drawn(Traffic(&t, location(h.Zone))) },
	"trafficUTC": func(t simulate.Traffic) template.HTML { return drawn(Traffic(&t, time.UTC)) },
	"histogram":  func(bars []simulate.Bar) template.HTML { return drawn(Histogram(bars)) },
	"did":        func(k suggest.KeyProfile) string { return did(&k) },
	"heat":       func(h simulate.Heat) template.HTML { return drawn(Heat(&h)) },
}).Parse(pageText))

// drawn marks a drawing as markup. Its text is already escaped.
func drawn(svg string) template.HTML { return template.HTML(svg) } //nolint:gosec // see above

// bar returns an HTML bar whose width represents a share.
func bar(share float64) template.HTML {
	return template.HTML(fmt.Sprintf(`<span class="bar" style="width:%.0fpx"></span>`, share*90)) //nolint:gosec // a number
}

// location returns the time zone with the given name, or UTC if the name is unknown.
func location(name string) *time.Location {
	if zone, err := time.LoadLocation(name); err == nil {
		return zone
	}
	return time.UTC
}

// plainLimit formats a limit with its algorithm, without defaults.
func plainLimit(limit string) string {
	limit = strings.TrimSuffix(limit, " segments 1 weighted")
	if limit != "" && '0' <= limit[0] && limit[0] <= '9' {
		return "token-bucket " + limit
	}
	return limit
}

// HTML writes a report as one self-contained file.
func HTML(w io.Writer, p *Page) error { return page.Execute(w, p) }
