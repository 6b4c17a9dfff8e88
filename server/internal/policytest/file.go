package policytest

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/files"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/policy/yamlfile"
)

// File is a test file with its policies file.
type File struct {
	// Name is the path of the test file.
	Name string
	// Tests holds the tests. They are independent: each starts with an empty store.
	Tests []Test

	config *policy.Config
	root   *yamlfile.Node
}

// Test is a sequence of steps on one store.
type Test struct {
	Name  *string `yaml:"name"`
	Start *string `yaml:"start"`
	Steps []Step  `yaml:"steps"`

	begin time.Time
}

// Step is a call with its expected answer. Nil expectations are not compared.
type Step struct {
	At       *string           `yaml:"at"`
	Times    *int64            `yaml:"times"`
	Do       *string           `yaml:"do"`
	Policy   *string           `yaml:"policy"`
	Key      *string           `yaml:"key"`
	Cost     *int64            `yaml:"cost"`
	ID       *string           `yaml:"id"`
	Class    *string           `yaml:"class"`
	Request  *string           `yaml:"request"`
	Host     *string           `yaml:"host"`
	Client   *string           `yaml:"client"`
	Headers  map[string]string `yaml:"headers"`
	BodySize *int64            `yaml:"body_size"`

	Expect     *string           `yaml:"expect"`
	Limit      *string           `yaml:"limit"`
	Remaining  *string           `yaml:"remaining"`
	RetryAfter *string           `yaml:"retry_after"`
	ResetAfter *string           `yaml:"reset_after"`
	Delay      *string           `yaml:"delay"`
	Route      *string           `yaml:"route"`
	Status     *int64            `yaml:"status"`
	Found      *bool             `yaml:"found"`
	Error      *string           `yaml:"error"`
	Shadows    map[string]string `yaml:"shadows"`

	after time.Duration  // time since the start of the test
	http  *route.Request // the parsed form of Request
}

// content holds the fields of a test file as written.
type content struct {
	Policies *string `yaml:"policies"`
	Tests    []Test  `yaml:"tests"`
}

// Load reads a test file, and the policies file that it names. That name is relative to the test file's directory. If
// one of the files is invalid, or the policies file cannot be read, the error is [yamlfile.Errors]. If the test file
// cannot be read, it is the operating system's error.
func Load(name string) (*File, error) {
	data, err := files.Read(name, yamlfile.MaxBytes)
	if err != nil {
		return nil, err
	}
	return parse(name, data, func(path string) (*policy.Config, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(name), path)
		}
		return policy.Reader{Gateway: true}.Reload(path, nil)
	})
}

func parse(name string, data []byte, load func(path string) (*policy.Config, error)) (*File, error) {
	documents, errs := yamlfile.Read(name, data, nil)
	c := checker{name: name, root: &yamlfile.Node{}, errs: errs}
	switch {
	case len(documents) > 1:
		c.add(documents[1].At, "more than one YAML document; accepted: one")
	case len(documents) == 1 && documents[0].Kind != yamlfile.Null:
		c.root = documents[0]
	case len(errs) == 0:
		c.add(yamlfile.Place{}, "the file is empty; accepted: policies, tests")
	}
	var text content
	decoder := yamlfile.Decoder{Report: c.add}
	decoder.Decode(c.root, &text)
	if len(c.errs) == 0 {
		c.file(&text)
	}
	if err := c.errs.Sorted(data); err != nil {
		return nil, err
	}
	config, err := load(*text.Policies)
	if err != nil {
		return nil, c.unloadable(err, data)
	}
	return &File{Name: name, Tests: text.Tests, config: config, root: c.root}, nil
}

// unloadable returns the error for the policies file. If that file cannot be read, the error points to the field that
// names it.
func (c *checker) unloadable(err error, data []byte) error {
	if _, invalid := err.(policy.Errors); invalid { //nolint:errorlint // policy.Load returns it unwrapped
		return err
	}
	c.invalid(err.Error()+"; accepted: a policies file", "policies")
	return c.errs.Sorted(data)
}

// line returns the line of a step's field. If the step does not set the field, it returns the line of the step.
func (f *File) line(test, step int, field string) int {
	return f.root.Find("tests", strconv.Itoa(test), "steps", strconv.Itoa(step), field).Line
}

// checker collects the errors of a test file.
type checker struct {
	name string
	root *yamlfile.Node
	errs yamlfile.Errors
}

func (c *checker) add(at yamlfile.Place, message string) {
	c.errs.Add(yamlfile.ErrorAt(c.name, at, message))
}

// invalid reports an error in the field with the given path.
func (c *checker) invalid(message string, path ...string) {
	c.add(c.root.Find(path...), strings.Join(path, ".")+": "+message)
}
