package policy

import (
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/headgate/headgate/policy/files"
	"github.com/headgate/headgate/policy/yamlfile"
)

// MaxFileBytes is the maximum size of a policies file.
const MaxFileBytes = yamlfile.MaxBytes

// Load reads a policies file. The error is [Errors] if the file is invalid, or the operating system's error if the
// file cannot be read.
func Load(path string) (*Config, error) { return Reader{}.Reload(path, nil) }

// Parse reads the text of a policies file. Error messages name the file as name. The error is [Errors]: at most 100
// errors or, if the text is not YAML, the first syntax error.
func Parse(name string, data []byte) (*Config, error) { return Reader{}.Parse(name, data) }

// Reader reads policies files without delaying requests. The zero Reader reads in the same way as [Load] and [Parse].
type Reader struct {
	// Pause is called every few values while a file is read, and during [Config.With] on the result. A server can use
	// it to yield to requests, because ten thousand policies take an eighth of a second of CPU time. It can be nil.
	Pause func()
	// Gateway accepts routes that charge concurrency policies. The caller must hold the permits while an allowed request
	// lasts, as the server's gateway does. Otherwise such a route is an error.
	Gateway bool
}

// Reload acts like [Load] for a file that may have been read before. last is the previous configuration, or nil. If the
// file's text has not changed, Reload returns last.
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
	if last != nil && sha256.Sum256(data) == last.text {
		return last, nil
	}
	return r.Parse(path, data)
}

// Parse acts like the function [Parse], but calls r.Pause while it reads.
func (r Reader) Parse(name string, data []byte) (*Config, error) {
	root, errs := readTree(name, data, r.Pause)
	if root == nil {
		if len(errs) == 0 {
			errs.Add(yamlfile.ErrorAt(name, yamlfile.Place{}, "the file is empty; accepted: policies, overrides, trusted_proxies, routes, upstreams, listeners, store"))
		}
		return nil, errs.Sorted(data)
	}
	var f file
	d := decoder(name, &errs)
	d.Pause = r.Pause
	d.Decode(root, &f)
	f.gateway = r.Gateway
	config := f.config(r.Pause, func(err error) { errs.Add(locate(name, root, err)) })
	if err := errs.Sorted(data); err != nil {
		return nil, err
	}
	config.text = sha256.Sum256(data)
	return config, nil
}

// readTree reads a file's single document. The node is nil if the file is empty, or if nothing in it is readable, as after a
// syntax error.
func readTree(name string, data []byte, pause yamlfile.Pauser) (*yamlfile.Node, Errors) {
	documents, errs := yamlfile.Read(name, data, pause)
	switch {
	case len(documents) > 0 && documents[0].Value("apiVersion") != nil && documents[0].Value("kind") != nil:
		errs = Errors{yamlfile.ErrorAt(name, documents[0].At, "this is a manifest of Kubernetes; accepted: a policies file: give the text under data, without its indentation")}
	case len(documents) > 1:
		errs = Errors{yamlfile.ErrorAt(name, documents[1].At, "more than one YAML document; accepted: one")}
	case len(documents) == 1 && documents[0].Kind != yamlfile.Null:
		return documents[0], errs
	}
	return nil, errs
}

// envoyHint is the error message for a field that belongs in files for envoyproxy/ratelimit.
const envoyHint = "this is a field of envoyproxy/ratelimit, whose files are read by headgate check and by serve --envoy-config"

// decoder returns a decoder that appends its errors to errs.
func decoder(name string, errs *Errors) *yamlfile.Decoder {
	return &yamlfile.Decoder{
		Report: func(at yamlfile.Place, message string) { errs.Add(yamlfile.ErrorAt(name, at, message)) },
		Hints:  map[string]string{"domain": envoyHint, "descriptors": envoyHint, "tests": "this is a field of a test file, which headgate test reads"},
	}
}
