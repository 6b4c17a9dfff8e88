package chaos

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// result is the result of one seed. A file of results contains one JSON object per line.
type result struct {
	Seed       uint64
	Deployment string
	Span       time.Duration
	Requests   int
	Permits    int
	// Lists is the number of admitted charges in lists. Beyond is the number of charges that were settled with more
	// units than reserved.
	Lists, Beyond int
	Violations    []violation
	Rows          []row
	Faults        map[string]*facts
	// Algorithms counts the answers by algorithm and mode, such as "sliding-log/exact".
	Algorithms map[string]int
	Waits      waits
	// Histories is the number of samples that were linearizable.
	Histories int
}

// row is one row of the table: the largest excess for a fault and a mode.
type row struct {
	cell
	excess
}

// facts describes the effects of one kind of fault on callers.
type facts struct {
	Times    int            // number of times that the fault occurred
	Gap      time.Duration  // the longest time without an answer from running processes
	Recovery time.Duration  // the longest time from the fault's end to an exact answer
	Back     time.Duration  // the longest time from the new primary to an exact answer
	Errors   map[string]int // by class
	Modes    map[string]int // answers by mode
}

// report summarizes a seed.
func report(s schedule, h *happened, answers []answer, holds []hold, f *found) *result {
	r := &result{
		Seed: s.Seed, Deployment: s.Deployment, Span: s.Span, Requests: len(answers),
		Violations: f.violations, Faults: map[string]*facts{}, Algorithms: map[string]int{}, Waits: waitsOf(h, answers),
	}
	for c, e := range f.excess {
		r.Rows = append(r.Rows, row{c, e})
	}
	for i := range answers {
		a := &answers[i]
		switch {
		case a.class != "":
		case a.beyond > 0:
			r.Beyond++
		default:
			r.Algorithms[a.limit.algorithm+"/"+a.mode]++
		}
		if a.listed && a.allowed {
			r.Lists++
		}
	}
	for i := range holds {
		if holds[i].to > 0 {
			r.Permits++
			r.Algorithms[seats+"/exact"]++
		}
	}
	for _, fault := range h.faults {
		one := factsOf(h, fault, answers)
		if all := r.Faults[fault.Fault]; all != nil {
			all.merge(one)
		} else {
			r.Faults[fault.Fault] = one
		}
	}
	return r
}

// factsOf summarizes the answers during one fault.
func factsOf(h *happened, fault struck, answers []answer) *facts {
	f := &facts{Times: 1, Errors: map[string]int{}, Modes: map[string]int{}}
	f.Recovery = h.exactAfter(fault, answers, fault.to)
	if fault.primary != 0 {
		f.Back = h.exactAfter(fault, answers, fault.primary)
	}
	for i := range answers {
		a := &answers[i]
		if !fault.touches(a.sent, a.received) || fault.Process >= 0 && fault.Process != a.process {
			continue
		}
		if a.class != "" {
			f.Errors[a.class]++
		} else {
			f.Modes[a.mode]++
		}
		if !h.stands(a) && !a.byProgram() {
			f.Gap = max(f.Gap, a.received-a.sent)
		}
	}
	return f
}

// exactAfter returns the longest time from an instant until an affected process gave an exact answer again.
func (h *happened) exactAfter(fault struck, answers []answer, from time.Duration) (longest time.Duration) {
	back := map[int]time.Duration{}
	for i := range answers {
		a := &answers[i]
		if a.mode == "exact" && !a.byProgram() && a.sent >= from && (fault.Process < 0 || fault.Process == a.process) {
			if at, known := back[a.process]; !known || a.received < at {
				back[a.process] = a.received
			}
		}
	}
	for process, at := range back {
		if !h.others(fault, process, from, at) {
			longest = max(longest, at-from)
		}
	}
	return longest
}

// others reports whether another fault may have kept a process from recovering from the given fault in a span.
func (h *happened) others(fault struck, process int, from, until time.Duration) bool {
	return slices.ContainsFunc(h.faults, func(s struck) bool {
		return s.event != fault.event && (s.Process < 0 || s.Process == process) && s.Fault != versions && s.touches(from-time.Second, until)
	})
}

// stands reports whether a request's process was killed or stopped during the request.
func (h *happened) stands(a *answer) bool {
	return slices.ContainsFunc(h.faults, func(s struck) bool {
		return s.Process == a.process && (s.Fault == processDies || s.Fault == processHung) && s.touches(a.sent, a.received)
	})
}

func (f *facts) merge(o *facts) {
	f.Times += o.Times
	f.Gap, f.Recovery, f.Back = max(f.Gap, o.Gap), max(f.Recovery, o.Recovery), max(f.Back, o.Back)
	for class, n := range o.Errors {
		f.Errors[class] += n
	}
	for mode, n := range o.Modes {
		f.Modes[mode] += n
	}
}

// save appends a result to a file.
func (r *result) save(path string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("result of seed %d: %w", r.Seed, err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	_, err = file.Write(append(text, '\n'))
	return errors.Join(err, file.Close())
}

// load reads a file of results. It returns no results if the file does not exist.
func load(path string) (all []*result, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		r := new(result)
		if err := json.Unmarshal(lines.Bytes(), r); err != nil {
			return nil, fmt.Errorf("results: line %d of %s: %w", len(all)+1, path, err)
		}
		all = append(all, r)
	}
	return all, lines.Err()
}

// tables writes the tables for all results.
func tables(w io.Writer, all []*result) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer func() { _ = table.Flush() }()
	requests, violations, histories, permits, lists, beyond, on := 0, 0, 0, 0, 0, 0, map[string]int{}
	var waited waits
	cells, faults, algorithms := map[cell]excess{}, map[string]*facts{}, map[string]int{}
	for _, r := range all {
		requests, violations = requests+r.Requests, violations+len(r.Violations)
		on[r.Deployment]++
		histories += r.Histories
		permits, lists, beyond = permits+r.Permits, lists+r.Lists, beyond+r.Beyond
		waited.merge(r.Waits)
		for _, row := range r.Rows {
			e := cells[row.cell]
			e.Spans += row.Spans
			if row.Units > e.Units || row.Units == e.Units && row.Bound > e.Bound {
				e.Units, e.Bound, e.Policy = row.Units, row.Bound, row.Policy
			}
			cells[row.cell] = e
		}
		for name, f := range r.Faults {
			if faults[name] == nil {
				faults[name] = &facts{Errors: map[string]int{}, Modes: map[string]int{}}
			}
			faults[name].merge(f)
		}
		for name, n := range r.Algorithms {
			if n > 0 {
				algorithms[name]++
			}
		}
	}
	fmt.Fprintf(table, "%d seeds (%v), %d requests, %d violations\n", len(all), on, requests, violations)
	fmt.Fprintf(table, "%d permits, %d charges of lists, %d charges beyond their reservation\n\n", permits, lists, beyond)
	fmt.Fprintln(table, "fault\tmode\tmost units over\tbound\tpolicy\tspans")
	for _, c := range slices.SortedFunc(maps.Keys(cells), func(a, b cell) int { return cmp.Or(cmp.Compare(a.Fault, b.Fault), cmp.Compare(a.Mode, b.Mode)) }) {
		e := cells[c]
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t%d\n", cmp.Or(c.Fault, "none"), c.Mode, e.Units, e.Bound, e.Policy, e.Spans)
	}
	fmt.Fprintln(table, "\nfault\ttimes\tlongest gap\texact again\terrors\tanswers by mode")
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		f := faults[name]
		fmt.Fprintf(table, "%s\t%d\t%d ms\t%d ms\t%s\t%s\n", name, f.Times, f.Gap.Milliseconds(), f.Recovery.Milliseconds(), counts(f.Errors), counts(f.Modes))
	}
	figures(table, &waited, faults, histories)
	coverage(table, faults, algorithms)
}

// coverage writes how many seeds saw each algorithm answer in each mode, and how many answers were given in each mode
// during each fault.
func coverage(w io.Writer, faults map[string]*facts, algorithms map[string]int) {
	modes := []string{"exact", "split", "leased", "fallback"}
	fmt.Fprintf(w, "\nseeds with\t%s\n", strings.Join(modes, "\t"))
	names := map[string]bool{}
	for name := range algorithms {
		algorithm, _, _ := strings.Cut(name, "/")
		names[algorithm] = true
	}
	for _, algorithm := range slices.Sorted(maps.Keys(names)) {
		line := []string{algorithm}
		for _, mode := range modes {
			line = append(line, strconv.Itoa(algorithms[algorithm+"/"+mode]))
		}
		fmt.Fprintln(w, strings.Join(line, "\t"))
	}
	missing := []string{}
	for _, each := range slices.Concat(slices.Collect(maps.Values(storeFaults))...) {
		if faults[each] == nil && !slices.Contains(missing, each) {
			missing = append(missing, each)
		}
	}
	for _, each := range processFaults[standalone] {
		if faults[each] == nil {
			missing = append(missing, each)
		}
	}
	fmt.Fprintf(w, "\nfaults that no seed had: %s\n", cmp.Or(strings.Join(missing, ", "), "none"))
}

func counts(of map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, of[name]))
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}
