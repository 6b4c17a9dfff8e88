// Command prose counts phrases that make sentences read as if translated. It searches comments and pages, and prints
// where the phrases are. A test compares the counts with counts.txt: a change may lower them, but must not raise
// them.
//
//	go run ./prose            # the counts
//	go run ./prose what       # the places of one pattern
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// pattern is a phrase that native readers would not use.
type pattern struct {
	name    string
	matches *regexp.Regexp
}

var patterns = []pattern{
	{"what", regexp.MustCompile(`(?i)(^|[.:;] |\b(is|are|says?|said|of|than|and|by|with|on|to|from|that|tells?) )what (?:[^?]*$)`)}, // "What is asked is …"
	{"of which", regexp.MustCompile(`(?i)\b(of|by|from|to|in|for|under|after|at) which\b`)},
	{"who", regexp.MustCompile(`(?i)\b(who|whoever|whom)\b`)},
	{"stands, lies", regexp.MustCompile(`(?i)\b(stands?|stood|lies|lay)\b`)},
	{"beside", regexp.MustCompile(`(?i)\bbeside\b`)},
	{"behind", regexp.MustCompile(`(?i)\bbehind\b`)},
	{"is asked, is told", regexp.MustCompile(`(?i)\b(is|are|was|were) (none|asked|told)\b`)},
	{"untouched", regexp.MustCompile(`(?i)\bas if untouched\b`)},
	{"that one, the one of", regexp.MustCompile(`(?i)\b(that one|the one of|the ones of|those of|that of)\b`)},
	{"; so", regexp.MustCompile(`(?i); so\b`)},
	{"by it", regexp.MustCompile(`(?i)\b(by|of|from) it\b`)},
}

// finding is a place where a pattern was found.
type finding struct {
	file string
	line int
	text string
}

func main() {
	found, err := search("..")
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose: "+err.Error())
		os.Exit(1)
	}
	if len(os.Args) > 1 {
		for _, p := range found[strings.Join(os.Args[1:], " ")] {
			fmt.Fprintf(os.Stdout, "%s:%d: %s\n", p.file, p.line, p.text)
		}
		return
	}
	fmt.Fprint(os.Stdout, counts(found))
}

// counts returns one line for each pattern, with the number of places and the pattern's name.
func counts(found map[string][]finding) string {
	var b strings.Builder
	for _, p := range patterns {
		fmt.Fprintf(&b, "%4d  %s\n", len(found[p.name]), p.name)
	}
	return b.String()
}

// search searches all pages below a folder, and the comments in all Go files.
func search(root string) (map[string][]finding, error) {
	found := map[string][]finding{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name := d.Name(); name == "testdata" || name == "node_modules" || name == "bin" || name == ".git" {
				return fs.SkipDir
			}
			return nil
		case strings.HasSuffix(path, ".go"):
			return comments(path, found)
		case strings.HasSuffix(path, ".md") && d.Name() != "CHANGELOG.md": // released entries are not rewritten
			return page(path, found)
		}
		return nil
	})
	return found, err
}

func comments(path string, found map[string][]finding) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			from := files.Position(c.Pos()).Line
			for i, line := range strings.Split(c.Text, "\n") {
				note(found, path, from+i, strings.TrimSpace(strings.TrimPrefix(line, "//")))
			}
		}
	}
	return nil
}

// page searches those lines of a page that are prose, not code.
func page(path string, found map[string][]finding) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	code, lines := false, bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if !code && !strings.HasPrefix(line, "    ") {
			note(found, path, n, line)
		}
	}
	return lines.Err()
}

func note(found map[string][]finding, path string, line int, text string) {
	for _, p := range patterns {
		if p.matches.MatchString(text) {
			found[p.name] = append(found[p.name], finding{strings.TrimPrefix(path, "../"), line, text})
		}
	}
}
