package main

import (
	"fmt"
	"hash/crc32"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// mutant is one planted mistake.
type mutant struct {
	line        int    // in mutants.txt
	dir         string // determines the suites that should catch it
	kind        string // selects the suites that should catch it
	function    string // the name of the function or Lua part
	which       int    // the number of the match in the function, from 1; 0 if there is only one
	pattern     string // the original code
	replacement string // the code that replaces it
	breaks      string // a description of the broken behaviour
}

func (m *mutant) place() string {
	return fmt.Sprintf("%s %s %q → %q", m.dir, m.function, m.pattern, m.replacement)
}

// key identifies a mutant in catches.txt, independently of its position in the list.
func (m *mutant) key() string {
	return fmt.Sprintf("%s %s %s #%d ¦ %s ¦ %s", m.dir, m.kind, m.function, m.which, m.pattern, m.replacement)
}

// id is the mutant's number in the compiled code. It depends only on the mutant, so that the compiler can reuse
// cached files with the same mistakes.
func (m *mutant) id() int { return int(crc32.ChecksumIEEE([]byte(m.key()))) }

// ids returns the id of each mutant, in the same order.
func ids(mutants []mutant) []int {
	all := make([]int, len(mutants))
	for i := range mutants {
		all[i] = mutants[i].id()
	}
	return all
}

// A heading is a line with a directory in brackets and a kind of suites. A function may be followed by the number of
// the match within it.
var (
	heading = regexp.MustCompile(`^\[(\S+)\] (\w+)$`)
	address = regexp.MustCompile(`^(.*\S) #(\d+)$`)
)

func read(path string) ([]mutant, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return list(string(data))
}

// list parses the text of mutants.txt, whose comments describe the format.
func list(text string) (mutants []mutant, err error) {
	dir, kind, headed := "", "", map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			if dir, kind, err = section(line, headed); err != nil {
				return nil, fmt.Errorf("mutants.txt:%d: %w", i+1, err)
			}
			continue
		}
		m := mutant{line: i + 1, dir: dir, kind: kind}
		if err := m.parse(line); err != nil {
			return nil, fmt.Errorf("mutants.txt:%d: %w", i+1, err)
		}
		mutants = append(mutants, m)
	}
	return mutants, nil
}

// section parses a heading. There is only one heading per directory, so that moving the directory changes one line.
func section(line string, headed map[string]bool) (dir, kind string, err error) {
	fields := heading.FindStringSubmatch(line)
	if fields == nil {
		return "", "", fmt.Errorf("%q is not “[directory] suites”", line)
	}
	dir, kind = fields[1], fields[2]
	if headed[line] {
		return "", "", fmt.Errorf("%s has a section already", dir)
	}
	if _, ok := conformance[kind]; !ok {
		return "", "", fmt.Errorf("there are no suites %q", kind)
	}
	headed[line] = true
	return dir, kind, nil
}

// parse sets m's fields from a line with four fields separated by bars.
func (m *mutant) parse(line string) error {
	fields := strings.Split(line, "¦")
	if len(fields) != 4 {
		return fmt.Errorf("%d fields between ¦ instead of 4", len(fields))
	}
	if m.dir == "" {
		return fmt.Errorf("no [directory] is above this")
	}
	for i, to := range []*string{&m.function, &m.pattern, &m.replacement, &m.breaks} {
		*to = strings.TrimSpace(fields[i])
	}
	if numbered := address.FindStringSubmatch(m.function); numbered != nil {
		m.function = numbered[1]
		if m.which, _ = strconv.Atoi(numbered[2]); m.which < 1 {
			return fmt.Errorf("places are counted from #1")
		}
	}
	if m.function == "" || m.pattern == "" {
		return fmt.Errorf("there is nothing to look for")
	}
	// (*Store).Do is written as Store.Do, because a type cannot have two methods with the same name.
	m.function = strings.NewReplacer("(*", "", ")", "").Replace(m.function)
	return nil
}
