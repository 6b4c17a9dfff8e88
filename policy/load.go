package policy

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/redisstore/redisurl"
)

// Config is the content of a policies file.
type Config struct {
	Policies *Set
	// RESP and HTTP are addresses to listen on, Store a URL, StorePasswordFile the
	// name of a file; "" if the file does not set them.
	RESP, HTTP, Store, StorePasswordFile string

	file *file // what With builds on
}

// Empty returns the configuration of a file without any field.
func Empty() *Config { return new(file).config(func(error) {}) }

// MaxFileBytes is the size of the largest policies file.
const MaxFileBytes = 16 << 20

// Parse reads a policies file. name is for its error messages. The error is [Errors] and
// lists every error in the file; if the text is no YAML, or a value has the wrong type,
// the first one.
func Parse(name string, data []byte) (*Config, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // a byte order mark, which some editors write
	if err := checkText(name, data); err != nil {
		return nil, Errors{err}
	}
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, Errors{fromYAML(name, err)}
	}
	if len(tree.Docs) > 1 {
		return nil, Errors{{File: name, Line: 1, Column: 1, Message: "more than one YAML document; accepted: one"}}
	}
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		return nil, Errors{{File: name, Line: 1, Column: 1, Message: "the file is empty; accepted: policies, overrides, listeners, store"}}
	}
	if err := checkNumbers(name, tree); err != nil {
		return nil, Errors{err}
	}
	var f file
	if err := yaml.UnmarshalWithOptions(data, &f, yaml.Strict()); err != nil {
		return nil, Errors{fromYAML(name, err)}
	}
	var errs Errors
	config := f.config(func(err error) { errs = append(errs, locate(name, tree, err)) })
	if err := errs.sorted(); err != nil {
		return nil, err
	}
	return config, nil
}

// checkText rejects a file that is too long or not UTF-8.
func checkText(name string, data []byte) *Error {
	if len(data) > MaxFileBytes {
		return &Error{File: name, Line: 1, Column: 1, Message: "file is larger than 16 MiB"}
	}
	line, column := 1, 1
	for rest := data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 || r == 0 {
			return &Error{File: name, Line: line, Column: column, Message: fmt.Sprintf("byte 0x%02x: not a text file; accepted: UTF-8", rest[0])}
		}
		if rest = rest[size:]; r == '\n' {
			line, column = line+1, 1
		} else {
			column++
		}
	}
	return nil
}

// config builds the configuration and reports every error.
func (f *file) config(report func(error)) *Config {
	reportUnsupported(reflect.ValueOf(f).Elem(), report)
	c := &Config{Policies: f.set(report), file: f}
	for _, l := range []struct {
		name   string
		fields *listenerFields
		to     *string
	}{{"resp", f.Listeners.RESP, &c.RESP}, {"http", f.Listeners.HTTP, &c.HTTP}} {
		if l.fields != nil && l.fields.Address != nil {
			*l.to = *l.fields.Address
			if err := checkAddress(*l.to); err != nil {
				report(atField(err, "listeners", l.name))
			}
		}
	}
	if f.Store.URL != nil {
		c.Store = *f.Store.URL
		if err := f.checkStore(c.Store); err != nil {
			report(atField(err, "store"))
		}
	}
	if f.Store.PasswordFile != nil {
		c.StorePasswordFile = *f.Store.PasswordFile
	}
	return c
}

// acceptedStores lists the forms of a store URL. Package open, which has the same list,
// would link a Redis client.
const acceptedStores = "memory, " + redisurl.Schemes

// checkStore rejects a URL that no store has.
func (*file) checkStore(address string) error {
	if address == "memory" {
		return nil
	}
	if !redisurl.Known(address) {
		return invalid("url", quote(redisurl.Redacted(address)), acceptedStores)
	}
	_, err := redisurl.Parse(address)
	if input, ok := errors.AsType[*headgate.InputError](err); ok {
		return invalid("url", input.Value, input.Accepted)
	}
	return nil
}

// checkAddress rejects an address that no listener can have.
func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	n, notPort := strconv.ParseUint(port, 10, 16)
	if address == "off" || err == nil && notPort == nil && n <= 65535 {
		return nil
	}
	return invalid("address", quote(address), `a host and a port, such as "127.0.0.1:6380", or off`)
}

// reportUnsupported reports each field of type any that the file sets: it belongs to a
// feature that does not exist yet.
func reportUnsupported(v reflect.Value, report func(error), path ...string) {
	for field, value := range v.Fields() {
		name := append(slices.Clip(path), field.Tag.Get("yaml"))
		switch value.Kind() {
		case reflect.Interface:
			if !value.IsNil() {
				report(atField(errors.New("not supported yet"), name...))
			}
		case reflect.Pointer:
			if value.Elem().Kind() == reflect.Struct {
				reportUnsupported(value.Elem(), report, name...)
			}
		case reflect.Struct:
			reportUnsupported(value, report, name...)
		}
	}
}

// quote quotes a value for an error message, at most 128 bytes of it.
func quote(s string) string { return strconv.Quote(s[:min(len(s), 128)]) }

// sortedNames returns the names in the order in which policies are built, so that errors
// come in the same order in every run.
func sortedNames(policies map[string]*policyFields) []string {
	return slices.Sorted(maps.Keys(policies))
}
