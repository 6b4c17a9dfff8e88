package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// table is one comparison, with a line for each contender.
type table struct {
	title string
	unit  string
	// lower is true if smaller values are better.
	lower bool
	// reach is the target for the ratio to the best of the others. It is an upper bound if smaller values are better,
	// and otherwise a lower bound. 0 means no target.
	reach float64
	// beside lists the names of the lines to compare with. If it is empty, all other lines are compared.
	beside []string
	lines  []line
	note   string
	// costs adds columns with the CPU time of this process and the time of the store's scripts for each decision.
	costs bool
}

type line struct {
	name   string
	ours   bool
	value  float64   // the median
	rounds []float64 // one value per round, or nil for a single value
	// cpu is the CPU time of this process in ns, and store is the time of the store's scripts in µs, both per decision.
	// 0 means not measured.
	cpu, store float64
}

// spread is the median of the ratios of two lines, and the bounds of their middle half. Each ratio compares values from
// the same round, so that other load on the machine affects both.
type spread struct{ from, median, to float64 }

// over returns the spread of the ratios of this line's values to the other's. ok is false if the other's median is 0.
func (l *line) over(other *line) (s spread, ok bool) {
	if other.value == 0 {
		return s, false
	}
	ratios := []float64{l.value / other.value}
	if len(l.rounds) > 0 {
		ratios = ratios[:0]
	}
	for i, value := range l.rounds {
		beside := other.value
		if i < len(other.rounds) {
			beside = other.rounds[i]
		}
		ratios = append(ratios, value/beside)
	}
	return spread{quantile(ratios, 0.25), middle(ratios), quantile(ratios, 0.75)}, true
}

// String returns the median, followed by the bounds in parentheses if they differ.
func (s spread) String() string {
	if s.from == s.to {
		return fmt.Sprintf("%.2f", s.median)
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", s.median, s.from, s.to)
}

// best returns the best of the lines that Headgate is compared to.
func (t *table) best() (best line) {
	for _, l := range t.lines {
		if l.ours || len(t.beside) > 0 && !slices.Contains(t.beside, l.name) {
			continue
		}
		if best.name == "" || t.lower == (l.value < best.value) {
			best = l
		}
	}
	return best
}

// write prints the table in Markdown. Each line includes its ratio to the best of the others.
func (t *table) write(w io.Writer) {
	best := t.best()
	costs := t.costColumns()
	head, rule := "", ""
	for _, c := range costs {
		head, rule = head+" "+c.title+" |", rule+"---:|"
	}
	fmt.Fprintf(w, "### %s\n\n| | %s | ratio |%s\n|---|---:|---:|%s\n", t.title, t.unit, head, rule)
	for _, l := range t.lines {
		name := l.name
		if l.ours {
			name = "**" + name + "**"
		}
		ratio := ""
		if spread, ok := l.over(&best); ok {
			ratio = spread.String()
		}
		fmt.Fprintf(w, "| %s | %s | %s |", name, number(l.value), ratio)
		for _, c := range costs {
			text := ""
			if v := c.of(l); v > 0 {
				text = number(v)
			}
			fmt.Fprintf(w, " %s |", text)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	if t.reach > 0 {
		fmt.Fprintf(w, "%s\n\n", t.verdict(best))
	}
	if t.note != "" {
		fmt.Fprintf(w, "%s\n\n", t.note)
	}
}

// cost is a column that follows the ratio.
type cost struct {
	title string
	of    func(line) float64
}

// costColumns returns the columns that have a value in any line.
func (t *table) costColumns() (columns []cost) {
	if !t.costs {
		return nil
	}
	for _, c := range []cost{
		{"CPU of this process, ns", func(l line) float64 { return l.cpu }},
		{"scripts of the store, µs", func(l line) float64 { return l.store }},
	} {
		if slices.ContainsFunc(t.lines, func(l line) bool { return c.of(l) > 0 }) {
			columns = append(columns, c)
		}
	}
	return columns
}

// verdict returns a sentence that says whether Headgate's first line reaches the target ratio.
func (t *table) verdict(best line) string {
	for _, l := range t.lines {
		if !l.ours || best.value == 0 {
			continue
		}
		is, _ := l.over(&best)
		word := "at least"
		if t.lower {
			word = "at most"
		}
		if t.reached(is) {
			return fmt.Sprintf("Target: %s %.2g times %q. Measured: %s.", word, t.reach, best.name, is)
		}
		return fmt.Sprintf("Target: %s %.2g times %q. **Not reached: %s.**", word, t.reach, best.name, is)
	}
	return ""
}

// reached reports whether a ratio reaches the target.
func (t *table) reached(is spread) bool {
	if t.lower {
		return is.median <= t.reach
	}
	return is.median >= t.reach
}

func number(v float64) string {
	switch {
	case v >= 10_000:
		return fmt.Sprintf("%.0f k", v/1000)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	default:
		return fmt.Sprintf("%.1f", v)
	}
}

// row prints the table as a row of the report: Headgate's first line, and the best of the others.
func (t *table) row(w io.Writer) {
	i := slices.IndexFunc(t.lines, func(l line) bool { return l.ours })
	best := t.best()
	if i < 0 || best.value == 0 {
		return
	}
	is, _ := t.lines[i].over(&best)
	verdict := ""
	switch {
	case t.reach > 0 && !t.reached(is):
		verdict = fmt.Sprintf("**not reached: %.2g**", t.reach)
	case t.reach > 0:
		verdict = fmt.Sprintf("%.2g", t.reach)
	case t.lower == (is.median > 1):
		verdict = "**not first**"
	}
	fmt.Fprintf(w, "| %s, %s | %s | %s: %s | %s | %s |\n", t.title, t.unit, number(t.lines[i].value), best.name, number(best.value), is, verdict)
}

// report writes a row for each table, and a description of the machine. The loaded argument describes the machine's load
// before the first measurement.
func report(path string, s settings, loaded string, tables []table) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmarks\n\nMeasured by `make %s` on %s: %d cores (%s), %s, Redis on loopback.\nLoad average (1, 5 and 15 minutes) before: %s; after, this run included: %s.\n\n",
		s.name, time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), processor(), runtime.Version(), loaded, loadAverages())
	fmt.Fprintf(&b, "Every comparison ran in one process, in turns; numbers are medians of %d rounds of %v. A ratio is to the best of\nthe others: the median of the rounds' ratios, with the middle half of them. Such a machine is noisy: read the ratios\nwith their spread, and measure your own. The command prints all contenders of each row.\n\n", s.rounds, s.lasts)
	b.WriteString("| what | Headgate | best of the others | ratio | goal |\n|---|---:|---|---:|---|\n")
	for i := range tables {
		tables[i].row(&b)
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// loadAverages returns the system's load averages, if the system reports them.
func loadAverages() string {
	data, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(data))
	if err != nil || len(fields) < 3 {
		return "not known"
	}
	return strings.Join(fields[:3], ", ")
}

// processor returns the processor's name, if the system reports it.
func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for text := range strings.Lines(string(data)) {
		if after, ok := strings.CutPrefix(text, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(after, "\t :"))
		}
	}
	return runtime.GOARCH
}
