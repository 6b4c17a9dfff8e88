package main

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// These environment variables of a test process select the mistake: a mistake in Go by its number, and a mistake in Lua
// by a directory that replaces the embedded fragments.
const (
	switchOn  = "HEADGATE_MUTANT"
	fragments = "HEADGATE_MUTANT_LUA"
)

// switchFile is added to each package with mistakes in Go, and fragmentsFile to each package with mistakes in its
// embedded Lua.
const (
	switchFile = `package %s

import (
	"os"
	"strconv"
)

var mutantOn, _ = strconv.Atoi(os.Getenv("` + switchOn + `"))
`
	fragmentsFile = `package %s

import (
	"io/fs"
	"os"
)

var embedded = func() fs.FS {
	if dir := os.Getenv("` + fragments + `"); dir != "" {
		return os.DirFS(dir)
	}
	return embeddedUnchanged
}()
`
)

// plantation is the overlay that compiles all mistakes in together. One build is then enough for all mutants, and the
// tree is not modified.
type plantation struct {
	dir   string
	files map[string]string // by the path of the file that each replaces
	lua   map[int]string    // directories of fragments, by mutant
}

// plant plants all edits. ids are the mutants' numbers.
func plant(dir string, edits []edit, ids []int) (*plantation, error) {
	p := &plantation{dir: dir, files: map[string]string{}, lua: map[int]string{}}
	functions := map[string]map[int]string{} // by file, and by the byte where the body starts
	for i := range edits {
		e := &edits[i]
		if filepath.Ext(e.file) == ".lua" {
			if err := p.plantLua(e, ids[i]); err != nil {
				return nil, err
			}
			continue
		}
		if functions[e.file] == nil {
			functions[e.file] = map[int]string{}
			p.files[e.file] = e.source
		}
		functions[e.file][e.from] += e.alternative(ids[i])
	}
	for file, bodies := range functions {
		text := p.files[file]
		for _, at := range slices.Backward(slices.Sorted(maps.Keys(bodies))) {
			text = text[:at] + bodies[at] + text[at:]
		}
		p.files[file] = text
		if err := p.add(file, "mutant_switch.go", switchFile); err != nil {
			return nil, err
		}
	}
	if err := p.openFragments(edits); err != nil {
		return nil, err
	}
	return p, p.write()
}

// alternative returns the function's body with the mistake. It runs instead of the original body while the mistake is
// selected.
func (e *edit) alternative(id int) string {
	end := ""
	if !e.returns {
		end = "return\n"
	}
	return fmt.Sprintf(" if mutantOn == %d {%s\n%s}\n", id, e.body(), end)
}

// plantLua writes a directory of fragments with the mistake, and makes the package that embeds the fragments read it.
func (p *plantation) plantLua(e *edit, id int) error {
	root := filepath.Join(p.dir, fmt.Sprint("lua-", id))
	folder := filepath.Join(root, filepath.Base(filepath.Dir(e.file)))
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	all, err := filepath.Glob(filepath.Join(filepath.Dir(e.file), "*.lua"))
	if err != nil {
		return err
	}
	for _, path := range all {
		if path == e.file {
			err = os.WriteFile(filepath.Join(folder, filepath.Base(path)), []byte(e.changed()), 0o600)
		} else {
			err = os.Symlink(path, filepath.Join(folder, filepath.Base(path)))
		}
		if err != nil {
			return err
		}
	}
	p.lua[id] = root
	return nil
}

const embeds = "\nvar embedded embed.FS\n"

// openFragments makes the package with mistakes in its fragments read the fragments at run time.
func (p *plantation) openFragments(edits []edit) error {
	for _, e := range edits {
		if filepath.Ext(e.file) != ".lua" {
			continue
		}
		pkg := filepath.Dir(filepath.Dir(e.file))
		files, err := filepath.Glob(filepath.Join(pkg, "*.go"))
		if err != nil {
			return err
		}
		for _, file := range files {
			text, known := p.files[file]
			if !known {
				data, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				text = string(data)
			}
			if !strings.Contains(text, embeds) {
				continue
			}
			p.files[file] = strings.Replace(text, embeds, "\nvar embeddedUnchanged embed.FS\n", 1)
			return p.add(file, "mutant_fragments.go", fragmentsFile)
		}
		return fmt.Errorf("no file of %s has %q: the fragments cannot be replaced", pkg, strings.TrimSpace(embeds))
	}
	return nil
}

// add adds a file with the given name to the package of an existing file. The argument format is the new file's content,
// with a placeholder for the package's name.
func (p *plantation) add(beside, name, format string) error {
	tree, err := parser.ParseFile(token.NewFileSet(), beside, nil, parser.PackageClauseOnly)
	if err != nil {
		return err
	}
	p.files[filepath.Join(filepath.Dir(beside), name)] = fmt.Sprintf(format, tree.Name.Name)
	return nil
}

// overlay returns the path of the overlay file for the compiler.
func (p *plantation) overlay() string { return filepath.Join(p.dir, "overlay.json") }

func (p *plantation) write() error {
	replace := map[string]string{}
	for i, path := range slices.Sorted(maps.Keys(p.files)) {
		to := filepath.Join(p.dir, fmt.Sprintf("%d-%s", i, filepath.Base(path)))
		if err := os.WriteFile(to, []byte(p.files[path]), 0o600); err != nil {
			return err
		}
		replace[path] = to
	}
	data, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(p.overlay(), data, 0o600)
}
