package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// license matches the names of license files.
var license = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)`)

// notices writes the licenses of Go and of all modules in the binaries, as most of these licenses require.
func (r *release) notices(p *papers) error {
	files := map[string][]string{} // paths, by module
	for _, t := range targets {
		if err := r.licenses(t, files); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	b.WriteString("Headgate is under the Apache License 2.0 (LICENSE). The program contains these libraries, under their own terms.\n")
	for _, module := range slices.Sorted(maps.Keys(files)) {
		for _, path := range files[module] {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 80), module, filepath.Base(path), bytes.TrimSpace(text))
		}
	}
	page, err := pageLicenses(filepath.Join(r.root, "server", "internal", "page", "web"))
	if err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n%s\n%s", strings.Repeat("=", 80), page)
	return os.WriteFile(p.notices, b.Bytes(), 0o644)
}

// pageLicenses returns the licenses of the libraries in the operator page. It returns an error if a license is
// missing.
func pageLicenses(folder string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(folder, "LICENSES"))
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(folder, "package.json"))
	if err != nil {
		return nil, err
	}
	var list struct{ Dependencies map[string]string }
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("package.json: %w", err)
	}
	for name, version := range list.Dependencies {
		if heading := "\n" + name + " " + version + ":\n"; !bytes.Contains(text, []byte(heading)) {
			return nil, fmt.Errorf("server/internal/page/web/LICENSES has no line \"%s %s:\"; add it with the license below it", name, version)
		}
	}
	return text, nil
}

// licenses adds the license files of the modules in a target's binary. It returns an error if a module's license is
// missing.
func (r *release) licenses(t target, files map[string][]string) error {
	c := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if .Version}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{else}}Go\t{{$.Root}}\t{{$.Root}}{{end}}", "./cmd/headgate")
	c.Dir = filepath.Join(r.root, "server")
	c.Env = append(environment(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0")
	out, err := output(c)
	if err != nil {
		return err
	}
	looked := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		words := strings.Split(strings.TrimSpace(line), "\t")
		if len(words) != 3 || looked[words[2]] {
			continue // a module in this repository
		}
		looked[words[2]] = true
		if err := licensesOf(words[0], words[1], words[2], files); err != nil {
			return err
		}
	}
	return nil
}

// licensesOf adds the files in the directories from a package up to its module root.
func licensesOf(module, top, folder string, files map[string][]string) error {
	for ; strings.HasPrefix(folder, top); folder = filepath.Dir(folder) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, e := range entries {
			path := filepath.Join(folder, e.Name())
			if !e.IsDir() && license.MatchString(e.Name()) && !strings.HasSuffix(e.Name(), ".go") && !slices.Contains(files[module], path) {
				files[module] = append(files[module], path)
			}
		}
	}
	if len(files[module]) == 0 {
		return fmt.Errorf("%s has no file with its license; the release must not have it", module)
	}
	slices.Sort(files[module])
	return nil
}
