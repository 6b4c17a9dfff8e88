package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/headgate/headgate/pressure"
)

// Pressure collects the metrics of a gate that watches CPU time and memory.
type Pressure struct{ Gate *pressure.Gate }

var (
	pressureLevel  = desc("pressure_level", "The level of pressure: 0 for none, to 4.")
	pressureSignal = desc("pressure_signal", "The signals of pressure, 0 to 1. A signal that the system does not have has no series.", "signal")
)

// Describe implements [prometheus.Collector].
func (*Pressure) Describe(to chan<- *prometheus.Desc) { to <- pressureLevel }

// Collect implements [prometheus.Collector].
func (p *Pressure) Collect(to chan<- prometheus.Metric) {
	to <- gauge(pressureLevel, float64(p.Gate.Level()))
	for _, s := range p.Gate.Signals() {
		to <- gauge(pressureSignal, float64(s.Value)/1000, s.Name)
	}
}
