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

// table is one comparison.
type table struct {
	title string
	unit  string
	// lower is set if a smaller number is better.
	lower bool
	// reach is the wanted ratio to the best of the others: at most if a smaller number is
	// better, otherwise at least. 0 means no wanted ratio.
	reach float64
	// beside names the lines that the ratio compares with; empty means all others.
	beside []string
	lines  []line
	note   string
}

type line struct {
	name  string
	ours  bool
	value float64
}

// best returns the best of the lines that Headgate is compared with.
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

// write prints the table in Markdown, each line with its ratio to the best of
// the others.
func (t *table) write(w io.Writer) {
	best := t.best()
	fmt.Fprintf(w, "### %s\n\n| | %s | ratio |\n|---|---:|---:|\n", t.title, t.unit)
	for _, l := range t.lines {
		name := l.name
		if l.ours {
			name = "**" + name + "**"
		}
		fmt.Fprintf(w, "| %s | %s | %s |\n", name, number(l.value), ratio(l.value, best.value))
	}
	fmt.Fprintln(w)
	if t.reach > 0 {
		fmt.Fprintf(w, "%s\n\n", t.verdict(best))
	}
	if t.note != "" {
		fmt.Fprintf(w, "%s\n\n", t.note)
	}
}

// verdict says whether Headgate's first line reaches the wanted ratio.
func (t *table) verdict(best line) string {
	for _, l := range t.lines {
		if !l.ours || best.value == 0 {
			continue
		}
		is, word := l.value/best.value, "at least"
		reached := is >= t.reach
		if t.lower {
			word, reached = "at most", is <= t.reach
		}
		if reached {
			return fmt.Sprintf("Wanted: %s %.2g times %s. Reached: %.2f.", word, t.reach, best.name, is)
		}
		return fmt.Sprintf("Wanted: %s %.2g times %s. **Not reached: %.2f.**", word, t.reach, best.name, is)
	}
	return ""
}

func ratio(value, best float64) string {
	if best == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", value/best)
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

// report writes all tables, and the machine that they were measured on.
func report(path, drawn string, s settings, tables []table) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmarks\n\nMeasured by `make %s` on %s: %d cores (%s), %s, Redis on loopback. Every comparison\n", s.name, time.Now().UTC().Format("2006-01-02"), runtime.NumCPU(), processor(), runtime.Version())
	fmt.Fprintf(&b, "ran in one process, in turns; numbers are medians of %d rounds of %v. Such a machine is noisy: read the\nratios, which are to the best of the others in the table, and measure your own.\n\n", s.rounds, s.lasts)
	fmt.Fprintf(&b, "![The tables below as bars](%s)\n\n", drawn)
	for i := range tables {
		tables[i].write(&b)
	}
	return os.WriteFile(path, []byte(strings.TrimRight(b.String(), "\n")+"\n"), 0o644)
}

// processor returns the processor's name, if the system gives it.
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
