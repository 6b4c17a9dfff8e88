package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/pflag"
)

// output is standard output. It keeps the first write error, because most commands ignore errors of single writes.
type output struct {
	*os.File

	err error
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	n, err := o.File.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// WriteString implements [io.StringWriter], hiding the file's method.
func (o *output) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// result returns err, the error of the command. If a write to standard output failed, it returns the write error
// instead. A closed pipe, for example with head, is not an error.
func (o *output) result(err error) error {
	switch {
	case o.err == nil:
		return err
	case errors.Is(o.err, syscall.EPIPE):
		if errors.Is(err, syscall.EPIPE) {
			return nil
		}
		return err
	default:
		return fmt.Errorf("standard output: %w", o.err)
	}
}

// outputFlag is the format of a command's output: text or json.
type outputFlag string

func (o *outputFlag) addTo(flags *pflag.FlagSet) {
	*o = "text"
	flags.Var(o, "output", "text or json")
}

// Set implements [pflag.Value].
func (o *outputFlag) Set(text string) error {
	if text != "text" && text != "json" {
		return errors.New("accepted: text, json")
	}
	*o = outputFlag(text)
	return nil
}

// String implements [pflag.Value].
func (o *outputFlag) String() string { return string(*o) }

// Type implements [pflag.Value].
func (*outputFlag) Type() string { return "format" }

func (o *outputFlag) json() bool { return *o == "json" }

// writeJSON prints a value as indented JSON.
func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
