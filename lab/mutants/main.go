// Command mutants plants mistakes in the code that makes decisions, and runs the tests. At least one test must fail
// for each mistake. If a mistake survives all tests, the run fails.
//
// mutants.txt lists the mistakes. Each entry names a function and the code to replace, so that layout and file names do
// not matter. All mistakes are compiled in together and selected by an environment variable, so that one build is
// enough. catches.txt lists the test that last caught each mistake, which is tried first.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// options holds the values of the command-line flags.
type options struct {
	repository, only, part string
	within                 time.Duration
	record                 bool
	parallel               int
}

func main() {
	var o options
	flag.StringVar(&o.repository, "root", "..", "the repository's root")
	flag.StringVar(&o.part, "part", "0/1", "try one part of the list: 2/4 is every fourth, from the third")
	flag.StringVar(&o.only, "only", "", "try the mutants whose kind, package or function contains this text")
	flag.DurationVar(&o.within, "for", 0, "try the mutants of changed files, and of the others as many as fit into this time, which begins after the first build; 0 tries all")
	flag.BoolVar(&o.record, "record", false, "write catches.txt")
	flag.IntVar(&o.parallel, "parallel", runtime.NumCPU()+1, "how many are tried at once")
	flag.Parse()
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "mutants: "+err.Error())
		os.Exit(1)
	}
}

func run(o *options) error {
	root, err := filepath.Abs(o.repository)
	if err != nil {
		return err
	}
	mutants, err := read(filepath.Join(root, "lab", "mutants", "mutants.txt"))
	if err != nil {
		return err
	}
	edits, err := plan(root, mutants)
	if err != nil {
		return err
	}
	catchesFile := filepath.Join(root, "lab", "mutants", "catches.txt")
	known, err := readCatches(catchesFile)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := &runner{options: *o, mutants: mutants, known: known, caught: catches{}, field: field{root: root}}
	if r.plantation, err = plant(dir, edits, ids(mutants)); err != nil {
		return err
	}
	if err := r.due(edits); err != nil {
		return err
	}
	if err := r.tryAll(); err != nil {
		return err
	}
	if o.record {
		maps.Copy(known, r.caught)
		if err := known.write(catchesFile, mutants); err != nil {
			return err
		}
	}
	return r.summary()
}

// runner tries the mutants in its queue, and records the test that catches each one, or that none does.
type runner struct {
	options
	field
	mutants []mutant
	known   catches
	queue   [][]int // batches of the mutants to try, by index in the list
	always  int     // number of batches that are tried regardless of the time limit

	mu       sync.Mutex
	caught   catches
	survived []string
}

// packages returns the packages whose tests a batch may need, without duplicates.
func (r *runner) packages(batch []int) (pkgs []string) {
	for _, i := range batch {
		suites := suitesOf(r.root, &r.mutants[i])
		if s, ok := r.known[r.mutants[i].key()]; ok {
			suites = append(suites, s)
		}
		for _, s := range suites {
			pkgs = append(pkgs, s.pkg)
		}
	}
	slices.Sort(pkgs)
	return slices.Compact(pkgs)
}

// tryAll builds and tries the batches in the queue, several mutants at once, until the time is up.
func (r *runner) tryAll() error {
	var began time.Time // after the first build
	for n, batch := range r.queue {
		late := func() bool { return n >= r.always && time.Since(began) > r.within }
		if n > 0 && late() {
			break
		}
		if err := r.build(r.packages(batch)); err != nil {
			return err
		}
		if n == 0 {
			began = time.Now()
		}
		var wg sync.WaitGroup
		slots := make(chan struct{}, r.parallel)
		for _, i := range batch {
			weight := 1
			if r.mutants[i].kind == audited { // one at a time: its servers need the processors to keep to the schedule
				weight = max(1, r.parallel-1)
			}
			for range weight {
				slots <- struct{}{}
			}
			if late() {
				break
			}
			wg.Go(func() {
				r.tryOne(&r.mutants[i])
				for range weight {
					<-slots
				}
			})
		}
		wg.Wait()
	}
	return nil
}

func (r *runner) tryOne(m *mutant) {
	began := time.Now()
	by, caught := r.try(m, r.known[m.key()])
	r.mu.Lock()
	defer r.mu.Unlock()
	outcome := "SURVIVED"
	if caught {
		outcome = "caught"
		r.caught[m.key()] = by
	} else {
		r.survived = append(r.survived, m.key())
	}
	fmt.Fprintf(os.Stdout, "%-8s %5.1f s  %s: %s  [%s %s]\n", outcome, time.Since(began).Seconds(), m.place(), m.breaks, by.pkg, by.tests)
}

// summary prints the counts, and checks that the tests that caught mutants pass without a mutant. If there is a time
// limit, it only prints the counts, because the tests have just passed without a mutant.
func (r *runner) summary() error {
	byPackage := map[string][]string{}
	for _, s := range r.caught {
		if r.within == 0 {
			byPackage[s.pkg] = append(byPackage[s.pkg], s.tests)
		}
	}
	for pkg, tests := range byPackage {
		if out, passed := r.run(suite{pkg, together(tests)}, nil, 10*time.Minute); !passed {
			return fmt.Errorf("tests of %s fail although no mistake is on:\n%s", pkg, out)
		}
	}
	fmt.Fprintf(os.Stdout, "mutants: %d caught, %d not, of %d\n", len(r.caught), len(r.survived), len(r.mutants))
	if len(r.survived) > 0 {
		return fmt.Errorf("%d mutants survived:\n%s", len(r.survived), strings.Join(r.survived, "\n"))
	}
	return nil
}
