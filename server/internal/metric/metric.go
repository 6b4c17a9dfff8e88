// Package metric declares metrics that are read from their source at each scrape. A metric is one row of a table: its
// name, its help text, its labels and how it is read.
package metric

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Row is a metric of a source of type S. Either Value or Series reads it.
type Row[S any] struct {
	// Name is the whole name. A metric whose name ends in _total is a counter. All others are gauges, unless Counter is
	// set.
	Name, Help string
	Counter    bool
	// Labels are the names of the labels.
	Labels []string
	// Value returns the value of a metric without labels.
	Value func(s S) float64
	// Series calls add for each series, with the values of the labels; a series can be without the last labels. A metric
	// that it never calls add for is omitted.
	Series func(s S, add func(value float64, labels ...string))
}

// Table is the metrics of a source.
type Table[S any] struct {
	rows  []Row[S]
	descs []*prometheus.Desc
}

// Described holds the labels of all metrics in tables, by name, also of those that no server has yet. /metrics omits
// metrics that have not counted anything, and metrics of layers that the server does not use. It is complete once the
// program's packages are initialized.
var Described = map[string][]string{}

// NewTable returns a table with the rows. It is called while packages are initialized, and panics for a row that cannot
// be read.
func NewTable[S any](rows ...Row[S]) *Table[S] {
	t := &Table[S]{rows: rows}
	for _, r := range rows {
		if (r.Value == nil) == (r.Series == nil) || r.Value != nil && r.Labels != nil {
			panic("metric: " + r.Name + " needs either Value, without labels, or Series")
		}
		Described[r.Name] = r.Labels
		t.descs = append(t.descs, prometheus.NewDesc(r.Name, r.Help, r.Labels, nil))
	}
	return t
}

// Collect sends the metrics of a source.
func (t *Table[S]) Collect(s S, to chan<- prometheus.Metric) {
	for i := range t.rows {
		r := &t.rows[i]
		kind := prometheus.GaugeValue
		if r.Counter || strings.HasSuffix(r.Name, "_total") {
			kind = prometheus.CounterValue
		}
		add := func(value float64, labels ...string) {
			desc := t.descs[i]
			if len(labels) < len(r.Labels) {
				desc = prometheus.NewDesc(r.Name, r.Help, r.Labels[:len(labels)], nil)
			}
			to <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
		}
		if r.Value != nil {
			add(r.Value(s))
		} else {
			r.Series(s, add)
		}
	}
}

// Of returns a collector of the source that read returns at each scrape.
func (t *Table[S]) Of(read func() S) prometheus.Collector { return collector[S]{t, read} }

type collector[S any] struct {
	table *Table[S]
	read  func() S
}

// Describe implements [prometheus.Collector]. It sends nothing, because the series depend on the source. They are
// checked at each scrape instead.
func (collector[S]) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c collector[S]) Collect(to chan<- prometheus.Metric) { c.table.Collect(c.read(), to) }
