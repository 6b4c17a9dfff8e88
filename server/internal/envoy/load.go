package envoy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headgate/headgate/policy/files"
	"github.com/headgate/headgate/policy/yamlfile"
)

// File is one file of a configuration.
type File struct {
	// Name is used in error messages.
	Name string
	Data []byte
}

// Config is a parsed configuration. It is immutable.
type Config struct {
	domains map[string]*domain
	rules   []*Rule
	// Warnings lists the parts of the files that have no effect.
	Warnings []string
}

// LoadOptions configures how files are read.
type LoadOptions struct {
	// MergeDomains allows several files with the same domain, and merges their descriptors.
	MergeDomains bool
	// NearLimitRatio is the fraction of a limit above which hits count as near the limit. 0 means 0.8.
	NearLimitRatio float32
	// EveryError reports up to 100 errors per file, instead of only the first one like envoyproxy/ratelimit.
	// Descriptors below an invalid one are not read.
	EveryError bool

	stats func(fullKey string) *ruleStats
}

func (o *LoadOptions) ratio() float32 {
	if o.NearLimitRatio == 0 {
		return 0.8
	}
	return o.NearLimitRatio
}

// Load parses the files of a configuration. The error contains a line for each invalid file, in envoyproxy/ratelimit's
// format: "<file>:<line>:<column>: <words>".
func Load(files []File, options LoadOptions) (*Config, error) {
	if options.stats == nil {
		options.stats = newRuleStats
	}
	c := &Config{domains: map[string]*domain{}}
	var errs []error
	b := &builder{config: c, ratio: options.ratio(), stats: options.stats, names: map[string]bool{}}
	for _, f := range files {
		b.found = found{every: options.EveryError}
		b.found.add(b.file(f, options.MergeDomains))
		for _, err := range b.found.errs {
			errs = append(errs, inFile(f.Name, err))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if limited := b.limited - len(b.names); limited > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d rules have no policy by which they can be changed; accepted: up to %d rules that limit anything", limited, MaxPolicies))
	}
	return c, nil
}

// found collects a file's errors.
type found struct {
	every bool
	errs  []error
}

// maxErrors is the maximum number of errors kept per file.
const maxErrors = 100

// add keeps an error, and reports whether to read the rest of the file. Errors beyond maxErrors are dropped.
func (f *found) add(err error) (goOn bool) {
	if err != nil && len(f.errs) < maxErrors {
		f.errs = append(f.errs, err)
	}
	return err == nil || f.every && len(f.errs) < maxErrors
}

// file adds one file to the configuration.
func (b *builder) file(f File, merge bool) error {
	root, documents, errs := parse(f.Name, f.Data)
	for _, err := range errs {
		err.Message = "error loading config file: " + err.Message
		if !b.found.add(err) {
			return nil
		}
	}
	if len(errs) > 0 {
		return nil
	}
	if documents > 1 {
		b.config.Warnings = append(b.config.Warnings, fmt.Sprintf("%s: only the first of %d YAML documents is read", f.Name, documents))
	}
	if root.Kind != yamlfile.Mapping && root.Kind != yamlfile.Null {
		return located(fmt.Errorf("error loading config file: the file is %s; accepted: domain and descriptors", root.Kind), root.At)
	}
	if err := (&checker{found: &b.found}).check(root); err != nil {
		return err
	}
	top := fields{node: root}
	name, descriptors := top.text("domain"), top.list("descriptors", "key")
	if top.err != nil {
		return top.err
	}
	if name == "" {
		return errors.New("config file cannot have empty domain")
	}
	d := b.config.domains[name]
	if d != nil && !merge {
		return fmt.Errorf("duplicate domain '%s' in config file", name)
	}
	if d == nil {
		d = &domain{name: name, space: Space + name, overrides: b.stats(name + ".override")}
		b.config.domains[name] = d
	}
	b.space = d.space
	return b.level(&d.level, name+".", descriptors)
}

// Recognise reports whether the text of a YAML file is a configuration of envoyproxy/ratelimit, which contains domain
// or descriptors at the top level.
func Recognise(data []byte) bool {
	root, _, _ := parse("", data)
	return root.get("domain") != nil || root.get("descriptors") != nil
}

// Describe returns a line for each rule, in the order of the files.
func (c *Config) Describe() []string {
	lines := make([]string, len(c.rules))
	for i, r := range c.rules {
		lines[i] = r.fullKey + ": unlimited"
		if !r.unlimited {
			lines[i] = r.fullKey + ": " + r.quota.String()
		}
		var more []string
		if all := r.classes.String(); all != "" {
			more = append(more, "classes "+all)
		}
		for _, m := range []struct {
			on   bool
			name string
		}{{r.shadow, "shadow_mode"}, {r.quotaMode, "quota_mode"}, {r.policy != "", "policy " + r.policy}} {
			if m.on {
				more = append(more, m.name)
			}
		}
		if len(more) > 0 {
			lines[i] += " (" + strings.Join(more, ", ") + ")"
		}
	}
	return lines
}

// maxFiles is the maximum number of files in a directory.
const maxFiles = 10_000

// ReadDir reads every file in a directory and its subdirectories, in the order of their names. It skips names that
// begin with a dot, because a ConfigMap keeps its versions under such names.
func ReadDir(dir string) ([]File, error) {
	var files []File
	err := readInto(&files, dir, "", 0)
	return files, err
}

func readInto(files *[]File, dir, under string, depth int) error {
	entries, err := os.ReadDir(filepath.Join(dir, under))
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		name := filepath.Join(under, e.Name())
		info, err := os.Stat(filepath.Join(dir, name)) // follows links
		switch {
		case err != nil:
			return err
		case info.IsDir() && depth == 8:
			return fmt.Errorf("%s: directories nest more than 8 deep", filepath.Join(dir, name))
		case info.IsDir():
			err = readInto(files, dir, name, depth+1)
		case !info.IsDir() && !info.Mode().IsRegular():
			continue // reading a named pipe would block
		case len(*files) == maxFiles:
			return fmt.Errorf("%s: more than %d files", dir, maxFiles)
		default:
			var data []byte
			data, err = readFile(filepath.Join(dir, name))
			*files = append(*files, File{Name: name, Data: data})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readFile reads at most one byte more than a file may contain, so that Load can reject a longer file.
func readFile(path string) ([]byte, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, yamlfile.MaxBytes+1))
}
