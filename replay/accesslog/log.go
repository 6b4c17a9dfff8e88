package accesslog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/headgate/headgate/internal/format"
)

// The bounds of a log.
const (
	// MaxFiles is how many files one log can have.
	MaxFiles = 256
	// batchSize is how many requests are handed on at once.
	batchSize = 4096
	// mostReach and leastReach are how many lines ahead an earlier request is looked for in
	// each file: all files together keep about twice mostReach requests in memory.
	mostReach  = 16 << 10
	leastReach = 512
)

// Options say how logs are read.
type Options struct {
	// Format is the name of a format or a format string; "" finds it in the first lines.
	Format string
	// Fields name the fields of JSON and the columns of CSV, each as NAME=FIELD.
	Fields []string
	// Host is the host of all requests of logs that name none.
	Host string
	// From and Until bound the requests that are read, in µs since 1970; 0 is no bound. A
	// request at Until is left out.
	From, Until int64
	// KeepBad is how many of the bad lines are kept.
	KeepBad int
}

// BadLine is a line that is not a request.
type BadLine struct {
	File string `json:"file"`
	Line int64  `json:"line"`
	// Reason says what is wrong.
	Reason string `json:"reason"`
}

// Stats is what was read.
type Stats struct {
	// Lines is how many lines the files have, without empty ones.
	Lines int64 `json:"lines"`
	// Requests is how many of them were handed on, in order.
	Requests int64 `json:"requests"`
	// Outside is how many are not between From and Until.
	Outside int64 `json:"outside,omitempty"`
	// Bad is how many are no request, and FirstBad the first of them in each file.
	Bad      int64     `json:"bad"`
	FirstBad []BadLine `json:"first_bad,omitempty"`
	// Late is how many came so long behind requests of later instants that they were taken
	// at the instant that was reached.
	Late int64 `json:"late"`
	// Spread says that a file has whole seconds alone, and that its requests are spread
	// evenly over each second.
	Spread bool `json:"spread"`
	// First and Last are the first and last instants, in µs since 1970.
	First int64 `json:"first_us"`
	Last  int64 `json:"last_us"`
}

// Log is several files as one. It is read once.
type Log struct {
	options Options
	files   []*file
	needs   []Need
	read    atomic.Int64 // bytes
	size    int64        // of all files; 0 if it is not known
	stats   Stats
}

// Open opens the files and finds their formats. The name - is standard input. Close closes
// them.
func Open(names []string, stdin io.Reader, o Options) (l *Log, err error) {
	if len(names) > MaxFiles {
		return nil, format.Invalid("files", format.Quote(fmt.Sprint(len(names))), fmt.Sprintf("at most %d files; join some of them in order of time", MaxFiles))
	}
	l = &Log{options: o}
	for i, name := range names {
		if name == "-" && slices.Contains(names[:i], "-") {
			l.Close()
			return nil, errors.New("- stands twice; accepted: standard input once")
		}
		f := &file{log: l, name: name, index: i, order: order{reach: max(leastReach, mostReach/len(names))}}
		l.files = append(l.files, f)
		if err := f.open(stdin); err != nil {
			l.Close()
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return l, nil
}

// Close closes the files.
func (l *Log) Close() {
	for _, f := range l.files {
		for _, end := range f.close {
			end()
		}
		f.close = nil
	}
}

// Formats returns the format of each file, as a sentence for people.
func (l *Log) Formats() (texts []string) {
	for _, f := range l.files {
		texts = append(texts, f.name+": "+f.format.about)
	}
	return texts
}

// Name returns the name of the file at a place.
func (l *Log) Name(place int) string { return l.files[place].name }

// Want asks for what a replay needs. The error is a [*MissingError] if a file does not have
// it.
func (l *Log) Want(needs []Need) error {
	headers, cookies := map[string]bool{}, map[string]bool{}
	l.needs = needs
	for i := range needs {
		n := &needs[i]
		for _, f := range l.files {
			if f.format.empty {
				continue
			}
			fields := f.format.fields()
			fields.Host = fields.Host || l.options.Host != ""
			if !fields.has(n) {
				return &MissingError{Need: *n, File: f.name, Format: f.format.about, How: how(n)}
			}
		}
		switch n.Kind {
		case Client:
			// A log that has these shows a client behind a trusted proxy, as the server sees it.
			headers["X-Forwarded-For"], headers["Forwarded"], headers["X-Real-Ip"] = true, true, true
		case Head:
			headers[canonical(n.Name)] = true
		case Cookie:
			cookies[n.Name] = true
			headers["Cookie"] = true
		}
	}
	for _, f := range l.files {
		f.format.want(headers, cookies)
	}
	return nil
}

// Progress returns how many bytes were read, and how many there are; 0 if that is not known.
// It is safe for use while Run runs.
func (l *Log) Progress() (read, size int64) { return l.read.Load(), max(l.size, 0) }

// Stats returns what was read. It is complete after Run.
func (l *Log) Stats() Stats { return l.stats }

// Run calls each with the requests in the order of their time; those of one instant are in
// the order of files and lines. each may keep the slice. Run returns the first error of
// each, or of a file that cannot be read, and an error if the log has no request.
func (l *Log) Run(ctx context.Context, each func(batch []Request) error) error {
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for _, f := range l.files {
		f.out = make(chan []Request, 2)
		running.Go(func() {
			defer close(f.out)
			f.err = f.run(ctx)
		})
	}
	err := l.merge(each)
	cancel()
	running.Wait()
	for _, f := range l.files {
		if f.err != nil && !errors.Is(f.err, context.Canceled) && err == nil {
			err = fmt.Errorf("%s: %w", f.name, f.err)
		}
		l.stats.add(&f.stats, l.options.KeepBad)
	}
	if err == nil {
		err = outer.Err()
	}
	if err == nil && l.stats.Requests == 0 {
		err = l.stats.noRequest()
	}
	if err == nil {
		err = l.unseen()
	}
	return err
}

// unseen is the error for a field of JSON that was named, and is needed, and that no line of
// any file had. Lines may leave a field out, so that only all of them together show this.
func (l *Log) unseen() error {
	for i := range l.needs {
		n := &l.needs[i]
		if field := l.unseenFor(n); field != "" {
			return fmt.Errorf("%s needs %s, and --field names %s for it, which no line has; accepted: a field of the lines, those inside fields with dots, such as request.client_ip", n.By, n.String(), format.Quote(field))
		}
	}
	return nil
}

// unseenFor returns the field that was named for a need, or "" if a file has what is needed.
func (l *Log) unseenFor(n *Need) (field string) {
	for _, f := range l.files {
		if f.format.empty {
			continue
		}
		j, ok := f.format.reader.(*jsonLines)
		if !ok {
			return ""
		}
		from, none := j.unseen(n)
		if !none {
			return ""
		}
		field = from
	}
	return field
}

// noRequest is the error for a log without a request: what its lines are.
func (s *Stats) noRequest() error {
	switch {
	case s.Lines == 0:
		return errors.New("the log has no line")
	case s.Bad == 0:
		return fmt.Errorf("the log has no request between --from and --until: all %d are outside", s.Outside)
	}
	text := fmt.Sprintf("the log has no request: of %d lines %d are none", s.Lines, s.Bad)
	if s.Outside > 0 {
		text += fmt.Sprintf(" and %d are outside --from and --until", s.Outside)
	}
	if len(s.FirstBad) > 0 {
		first := &s.FirstBad[0]
		text += fmt.Sprintf("; the first: %s:%d: %s", first.File, first.Line, first.Reason)
	}
	return errors.New(text)
}

// add adds what was read of one file.
func (s *Stats) add(f *Stats, keep int) {
	s.Lines += f.Lines
	s.Outside += f.Outside
	s.Bad += f.Bad
	s.Late += f.Late
	s.Spread = s.Spread || f.Spread
	s.FirstBad = append(s.FirstBad, f.FirstBad...)
	s.FirstBad = s.FirstBad[:min(len(s.FirstBad), keep)]
}

// merge hands on the requests of all files in order.
func (l *Log) merge(each func(batch []Request) error) error {
	heads := make([][]Request, len(l.files))
	for i, f := range l.files {
		heads[i] = <-f.out
	}
	for {
		first, bound := l.earliest(heads)
		if first < 0 {
			return nil
		}
		n := len(heads[first])
		if bound >= 0 { // up to the first request of another file
			other := &heads[bound][0]
			n = 1
			for n < len(heads[first]) && (heads[first][n].Time < other.Time || heads[first][n].Time == other.Time && first < bound) {
				n++
			}
		}
		batch := heads[first][:n]
		if l.stats.Requests == 0 {
			l.stats.First = batch[0].Time
		}
		l.stats.Requests += int64(n)
		l.stats.Last = batch[n-1].Time
		if err := each(batch); err != nil {
			return err
		}
		if heads[first] = heads[first][n:]; len(heads[first]) == 0 {
			heads[first] = <-l.files[first].out
		}
	}
}

// earliest returns the file with the earliest request and that with the next one; -1 is
// none.
func (*Log) earliest(heads [][]Request) (first, second int) {
	first, second = -1, -1
	for i := range heads {
		switch {
		case len(heads[i]) == 0:
		case first < 0 || heads[i][0].Time < heads[first][0].Time:
			first, second = i, first
		case second < 0 || heads[i][0].Time < heads[second][0].Time:
			second = i
		}
	}
	return first, second
}
