package metrics

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/server/internal/metric"
)

// files holds the state of the files that the server reads again while it runs.
type files struct {
	mu           sync.Mutex
	read         []*readFile
	certificates []certificate
}

type readFile struct {
	what string
	err  atomic.Pointer[error]
}

// InvalidFile is a file with errors, whose last valid version stays in force.
type InvalidFile struct {
	File string
	Err  error
}

type certificate struct {
	listener string
	ends     func() time.Time
}

// File adds a file to the metrics. The caller calls read after each attempt to read it, with the error or nil. The
// argument what names the file like a flag. Several files can have one name.
func (m *Metrics) File(what string) (read func(err error)) {
	f := &readFile{what: what}
	m.files.mu.Lock()
	defer m.files.mu.Unlock()
	m.files.read = append(m.files.read, f)
	return func(err error) { f.err.Store(&err) }
}

func (f *readFile) failed() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

// InvalidFiles returns the files with errors.
func (m *Metrics) InvalidFiles() (all []InvalidFile) {
	m.files.mu.Lock()
	defer m.files.mu.Unlock()
	for _, f := range m.files.read {
		if err := f.failed(); err != nil {
			all = append(all, InvalidFile{f.what, err})
		}
	}
	return all
}

// Certificate adds the certificate of a listener, or of "store", to the metrics. The function ends returns when it
// becomes invalid.
func (m *Metrics) Certificate(listener string, ends func() time.Time) {
	m.files.mu.Lock()
	defer m.files.mu.Unlock()
	m.files.certificates = append(m.files.certificates, certificate{listener, ends})
}

// invalid returns the names of all files, in order, and whether a file of this name has errors.
func (f *files) invalid() (names []string, invalid map[string]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	invalid = map[string]bool{}
	for _, one := range f.read {
		if !slices.Contains(names, one.what) {
			names = append(names, one.what)
		}
		invalid[one.what] = invalid[one.what] || one.failed() != nil
	}
	return names, invalid
}

var filesTable = metric.NewTable(
	metric.Row[*Metrics]{
		Name: "headgate_file_invalid", Labels: []string{"file"},
		Help: "1 while a file has errors, and the last valid version of it stays in force.",
		Series: func(m *Metrics, add func(float64, ...string)) {
			names, invalid := m.files.invalid()
			for _, name := range names {
				add(oneIf(invalid[name]), name)
			}
		},
	},
	metric.Row[*Metrics]{
		Name: "headgate_certificate_end_timestamp_seconds", Labels: []string{"listener"},
		Help: "When the certificate of a listener, or of this client of the store, ends, in seconds since 1970.",
		Series: func(m *Metrics, add func(float64, ...string)) {
			m.files.mu.Lock()
			defer m.files.mu.Unlock()
			for _, c := range m.files.certificates {
				add(float64(c.ends().Unix()), c.listener)
			}
		},
	},
)
