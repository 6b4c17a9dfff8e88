package metric_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate/server/internal/metric"
)

// A row is a counter or a gauge by its name, and is read at each scrape.
func TestRowsAreReadAtEachScrape(t *testing.T) {
	table := metric.NewTable(
		metric.Row[int]{Name: "a_total", Help: "h", Value: func(n int) float64 { return float64(n) }},
		metric.Row[int]{Name: "b", Help: "h", Labels: []string{"l"}, Series: func(n int, add func(float64, ...string)) {
			for range n {
				add(5, "x")
			}
		}},
		metric.Row[int]{Name: "c", Help: "h", Counter: true, Value: func(int) float64 { return 7 }},
	)
	source, registry := 0, prometheus.NewRegistry()
	registry.MustRegister(table.Of(func() int { source++; return source - 1 }))
	for scrape, want := range []int{2, 3} { // b has no series in the first
		families, err := registry.Gather()
		if err != nil || len(families) != want {
			t.Fatalf("%v, %v", families, err)
		}
		if got := families[0].GetMetric()[0].GetCounter().GetValue(); got != float64(scrape) {
			t.Errorf("a_total is %v in scrape %d", got, scrape)
		}
		if families[want-1].GetMetric()[0].GetCounter() == nil {
			t.Error("c is no counter")
		}
	}
	if labels, ok := metric.Described["b"]; !ok || len(labels) != 1 {
		t.Errorf("b has the labels %v", labels)
	}
}

func TestRowsNeedOneReader(t *testing.T) {
	value := func(int) float64 { return 0 }
	series := func(int, func(float64, ...string)) {}
	for name, row := range map[string]metric.Row[int]{
		"none":   {Name: "d"},
		"both":   {Name: "d", Value: value, Series: series},
		"labels": {Name: "d", Labels: []string{"l"}, Value: value},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			metric.NewTable(row)
		})
	}
}
