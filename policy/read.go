package policy

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"reflect"

	"github.com/headgate/headgate/internal/files"
)

// MaxFileBytes is the size of the largest policies file.
const MaxFileBytes = 16 << 20

// Load reads a policies file. The error is [Errors] if the file is wrong, or that of the
// operating system if it cannot be read.
func Load(path string) (*Config, error) { return Reader{}.Reload(path, Empty()) }

// Parse reads a policies file. name is for its error messages. The error is [Errors] and
// lists what is wrong with the file, at most 100 errors; if the text is no YAML, the first
// place where it is not.
func Parse(name string, data []byte) (*Config, error) { return Reader{}.Parse(name, data) }

// Reader reads policies files beside other work. The zero Reader reads as [Load] and
// [Parse] do.
type Reader struct {
	// Pause is called again and again while a file is read, every few values, and also in
	// [Config.With] of what was read. A server that answers requests meanwhile can rest
	// in it: ten thousand policies take an eighth of a second of one processor. nil is not
	// called.
	Pause func()
}

// Reload is [Load] for a file that was read before. It returns last itself if the text of
// the file is the same.
func (r Reader) Reload(path string, last *Config) (*Config, error) {
	f, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	if sha256.Sum256(data) == last.text {
		return last, nil
	}
	return r.Parse(path, data)
}

// Parse is the function [Parse].
func (r Reader) Parse(name string, data []byte) (*Config, error) {
	pause := pauser(r.Pause)
	text := sha256.Sum256(data)
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // a byte order mark, which some editors write
	if err := checkText(name, data); err != nil {
		return nil, Errors{err}.sorted(nil)
	}
	root, errs := readTree(name, data, pause)
	if root == nil {
		return nil, errs.sorted(data)
	}
	var f file
	d := decoder{pause: pause, report: func(at place, err error) { errs.add(errorAt(name, at, messageOf(err))) }}
	d.decode(root, reflect.ValueOf(&f).Elem(), nil)
	config := f.config(pause, func(err error) { errs.add(locate(name, root, err)) })
	if err := errs.sorted(data); err != nil {
		return nil, err
	}
	config.text = text
	return config, nil
}

// pauser is called between two steps of long work; nil does nothing.
type pauser func()

func (p pauser) pause() {
	if p != nil {
		p()
	}
}

// pausingReader pauses before each piece of a text.
type pausingReader struct {
	from  io.Reader
	pause pauser
}

// pieceBytes is how much of a text is read at once: some ten policies.
const pieceBytes = 512

// Read implements [io.Reader].
func (p pausingReader) Read(to []byte) (int, error) {
	p.pause.pause()
	return p.from.Read(to[:min(len(to), pieceBytes)])
}
