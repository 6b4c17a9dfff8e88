package scenario

// Fault is a known fault of a gate, with the figure that demonstrates it.
type Fault struct {
	Gate, Scenario string
	// Name describes the fault in a few words. Source is the thread or paper that reports it.
	Name, Source string
	// Figure measures the fault. Unit is the unit of the result.
	Figure func(*Row) float64
	Unit   string
	// At is the threshold of the figure. A figure of at least this value demonstrates the fault. If Most is set, a
	// figure of at most this value demonstrates it instead.
	At   float64
	Most bool
}

// Shown returns the row's figure, and reports whether it demonstrates the fault.
func (f *Fault) Shown(r *Row) (figure float64, shown bool) {
	figure = f.Figure(r)
	return figure, f.Most && figure <= f.At || !f.Most && figure >= f.At
}

func growth(r *Row) float64 {
	if r.Early == 0 {
		return 0
	}
	return r.Late / r.Early
}

func phaseGoodput(i int) func(*Row) float64 {
	return func(r *Row) float64 { return r.Phases[i].Goodput }
}

func late(r *Row) float64      { return r.Late }
func wrong(r *Row) float64     { return r.Wrong }
func goodput(r *Row) float64   { return r.Goodput }
func variation(r *Row) float64 { return r.Variation }

// Faults returns the known faults.
func Faults() []Fault {
	return []Fault{
		{
			Gate: "none", Scenario: "step", Name: "the queue outlives the overload", Source: "Bronson et al., Metastable Failures, HotOS 2021",
			Figure: phaseGoodput(2), Unit: "goodput afterwards", At: 0.05, Most: true,
		},
		{
			Gate: "fixed 20", Scenario: "large server", Name: "the number suits another server", Source: "every fixed limit",
			Figure: wrong, Unit: "denied at idle workers", At: 0.5,
		},
		{
			Gate: "bucket 95/s", Scenario: "half the workers", Name: "a rate does not see the capacity", Source: "every fixed rate",
			Figure: phaseGoodput(2), Unit: "goodput afterwards", At: 0.05, Most: true,
		},
		{
			Gate: "Headgate", Scenario: "contention", Name: "it does not see that fewer calls would complete more", Source: "package adaptive",
			Figure: goodput, Unit: "goodput", At: 0.55, Most: true,
		},
		{
			Gate: "AIMD", Scenario: "modest overload", Name: "it oscillates for ever", Source: "camunda/camunda#8298",
			Figure: variation, Unit: "variation of the limit", At: 0.15,
		},
		{
			Gate: "Vegas", Scenario: "proxies", Name: "the minimum takes the queue in", Source: "Netflix/concurrency-limits#165",
			Figure: late, Unit: "limits at the end, for ten workers", At: 200,
		},
		{
			Gate: "Vegas", Scenario: "steady", Name: "a lucky sample pins the limit", Source: "Netflix/concurrency-limits#37",
			Figure: wrong, Unit: "denied at idle workers", At: 0.1,
		},
		{
			Gate: "Gradient2", Scenario: "modest overload", Name: "it grows under a modest overload", Source: "failsafe-go/failsafe-go#134",
			Figure: growth, Unit: "limit at the end / at the start", At: 2,
		},
		{
			Gate: "Gradient2", Scenario: "stalled dependency", Name: "stable timeouts raise the limit", Source: "Netflix/concurrency-limits#137",
			Figure: func(r *Row) float64 { return r.Phases[1].Limit / max(r.Phases[0].Limit, 1) }, Unit: "limit in the stall / before", At: 2,
		},
		{
			Gate: "Gradient2", Scenario: "large server", Name: "it has no slow start", Source: "Netflix/concurrency-limits#35",
			Figure: goodput, Unit: "goodput", At: 0.9, Most: true,
		},
		{
			Gate: "failsafe-go", Scenario: "modest overload", Name: "the baseline becomes the latency of the queue", Source: "failsafe-go/failsafe-go#127",
			Figure: late, Unit: "limit at the end, for ten workers", At: 100,
		},
		{
			Gate: "Sentinel load", Scenario: "slow dependency", Name: "the minimum latches at the queue", Source: "alibaba/sentinel-golang#436",
			Figure: phaseGoodput(1), Unit: "goodput in the incident", At: 0.05, Most: true,
		},
		{
			Gate: "Sentinel CPU", Scenario: "neighbour", Name: "a neighbour's CPU denies everything", Source: "alibaba/Sentinel, system rule: the larger one of process and host",
			Figure: phaseGoodput(1), Unit: "goodput beside the neighbour", At: 0.9, Most: true,
		},
		{
			Gate: "go-zero", Scenario: "slow dependency", Name: "an idle CPU sheds nothing", Source: "go-zero.dev: load shedding begins at 90 % CPU",
			Figure: phaseGoodput(1), Unit: "goodput in the incident", At: 0.05, Most: true,
		},
		{
			Gate: "go-zero", Scenario: "modest overload", Name: "a full CPU sheds what would fit", Source: "compare zeromicro/go-zero#4265: denials while CPUs are left",
			Figure: wrong, Unit: "denied at idle workers", At: 0.03,
		},
	}
}
