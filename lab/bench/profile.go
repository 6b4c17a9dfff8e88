package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"strings"

	"github.com/google/pprof/profile"
)

// profiles records where Headgate's contenders spend their time, round by round. If it is nil, nothing is recorded.
type profiles struct {
	dir   string
	names []string
	found map[string]*profile.Profile
}

// during calls round, which measures a contender for a row of a table, and records its CPU profile. It merges the
// profiles of several rounds.
func (p *profiles) during(row, contender string, round func()) error {
	if p == nil {
		round()
		return nil
	}
	var data bytes.Buffer
	if err := pprof.StartCPUProfile(&data); err != nil {
		return err
	}
	round()
	pprof.StopCPUProfile()
	one, err := profile.Parse(&data)
	if err != nil {
		return err
	}
	name := fileName(row + " " + contender)
	if before, again := p.found[name]; again {
		if one, err = profile.Merge([]*profile.Profile{before, one}); err != nil {
			return err
		}
	} else {
		p.names = append(p.names, name)
	}
	p.found[name] = one
	return nil
}

var unfit = regexp.MustCompile(`[^a-z0-9]+`)

func fileName(text string) string {
	return strings.Trim(unfit.ReplaceAllString(strings.ToLower(text), "-"), "-")
}

// write writes each profile, for `go tool pprof`.
func (p *profiles) write(w io.Writer) error {
	if p == nil {
		return nil
	}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	for _, name := range p.names {
		var data bytes.Buffer
		if err := p.found[name].Write(&data); err != nil {
			return err
		}
		path := filepath.Join(p.dir, name+".pprof")
		if err := os.WriteFile(path, data.Bytes(), 0o644); err != nil {
			return err
		}
		fmt.Fprintln(w, path)
	}
	return nil
}
