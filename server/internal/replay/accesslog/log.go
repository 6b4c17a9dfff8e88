package accesslog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/route"
)

// Limits on a log.
const (
	// MaxFiles is the maximum number of files in a log.
	MaxFiles = 256
	// mostBad is the number of bad lines kept for the report.
	mostBad = 5
	// batchSize is the number of requests in one call of the callback.
	batchSize = 4096
	// mostReach and leastReach bound the number of lines that are read ahead in each file to find earlier requests.
	// Together, all files keep about 2·mostReach requests in memory.
	mostReach  = 16 << 10
	leastReach = 512
)

// Options configure how logs are read.
type Options struct {
	// Format is the name of a format or a format string. If it is "", the format is detected from the first lines.
	Format string
	// Host is the host of the requests in logs that do not record it.
	Host string
}

// BadLine is the position of a line that is not a request, with the reason.
type BadLine struct {
	File string `json:"file"`
	Line int64  `json:"line"`
	// Reason explains why the line is not a request.
	Reason string `json:"reason"`
}

// Stats counts the lines and requests that were read.
type Stats struct {
	// Lines is the number of non-empty lines in the files.
	Lines int64 `json:"lines"`
	// Requests is the number of requests passed on.
	Requests int64 `json:"requests"`
	// Bad is the number of lines that are not requests. FirstBad are the first such lines.
	Bad      int64     `json:"bad"`
	FirstBad []BadLine `json:"first_bad,omitempty"`
	// Late is the number of requests that came too late in the file to be sorted. Each gets the time of the request
	// before it.
	Late int64 `json:"late"`
	// Spread is true if a file's times are in whole seconds, so that its requests were spread evenly over each second.
	Spread bool `json:"spread"`
	// Proxied is the number of requests with X-Forwarded-For or Forwarded from a peer that no need trusts, although one
	// needs the client. Peer is the first such peer.
	Proxied int64  `json:"proxied,omitempty"`
	Peer    string `json:"peer,omitempty"`
	// First and Last are the times of the first and last request, in µs since 1970.
	First int64 `json:"first_us"`
	Last  int64 `json:"last_us"`
}

// Log reads several files as one. It can be read only once.
type Log struct {
	options Options
	files   []*file
	needs   []Need
	stats   Stats
	trusted []route.Proxies // by the needs of a client
}

// Open opens the files and detects their formats. The name - means standard input. Close the log when it is no longer
// needed.
func Open(names []string, stdin io.Reader, o Options) (l *Log, err error) {
	if len(names) > MaxFiles {
		return nil, engine.InvalidInput("files", engine.Quote(fmt.Sprint(len(names))), fmt.Sprintf("at most %d files; join some of them in order of time", MaxFiles))
	}
	l = &Log{options: o}
	for i, name := range names {
		if name == "-" && slices.Contains(names[:i], "-") {
			l.Close()
			return nil, errors.New("- occurs twice; accepted: standard input once")
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
		if f.opened != nil {
			_ = f.opened.Close()
		}
	}
}

// Formats returns a human-readable sentence about the format of each file.
func (l *Log) Formats() (texts []string) {
	for _, f := range l.files {
		texts = append(texts, f.name+": "+f.format.about)
	}
	return texts
}

// Name returns the name of the file with index place.
func (l *Log) Name(place int) string { return l.files[place].name }

// Want adds fields that a replay needs. It returns an error if a file lacks one of them.
func (l *Log) Want(needs []Need) error {
	headers, cookies := map[string]bool{}, map[string]bool{}
	l.needs = needs
	for i := range needs {
		n := &needs[i]
		for _, f := range l.files {
			if !f.has(n, false) {
				return f.missing(n)
			}
		}
		switch n.Kind {
		case Client:
			// As in the server, these headers identify the client of a trusted proxy.
			headers[forwardedFor], headers["Forwarded"], headers["X-Real-Ip"] = true, true, true
			l.trusted = append(l.trusted, n.Proxies)
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

// Stats returns the counts. They are complete after Run.
func (l *Log) Stats() Stats { return l.stats }

// Run passes batches of requests in order of time to the function each, which may keep them. Requests with the same
// time are in the order of files and lines. Run returns the first error from the function, the error for a file that
// cannot be read, or an error if the log contains no requests.
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
		l.stats.add(&f.stats)
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

// unseen returns the error for a needed JSON field that is in no line of any file. Lines may omit a field, so this is
// known only after the last line.
func (l *Log) unseen() error {
	files := slices.DeleteFunc(slices.Clone(l.files), func(f *file) bool { return f.format.empty })
	for i := range l.needs {
		n := &l.needs[i]
		if !slices.ContainsFunc(files, func(f *file) bool { return f.has(n, true) }) {
			return files[0].missing(n)
		}
	}
	return nil
}

// has reports whether the lines of the file can have a needed field, or whether those that were read had it.
func (f *file) has(n *Need, read bool) bool {
	return f.format.empty || n.Kind == Host && f.log.options.Host != "" || f.format.fields(read).has(n)
}

// missing returns the error for a needed field that the file does not have. It names the part of the policies that needs
// the field, and how to log it.
func (f *file) missing(n *Need) error {
	return fmt.Errorf("%s needs %s, which %s (%s) does not have; %s", n.By, n.String(), f.name, f.format.about, hint(n))
}

// noRequest returns the error for a log without requests. The error describes the lines that were read.
func (s *Stats) noRequest() error {
	if s.Lines == 0 {
		return errors.New("the log has no line")
	}
	first := &s.FirstBad[0]
	return fmt.Errorf("the log has no request: of %d lines %d are none; the first: %s:%d: %s", s.Lines, s.Bad, first.File, first.Line, first.Reason)
}

// add adds the counts of one file.
func (s *Stats) add(f *Stats) {
	s.Lines += f.Lines
	s.Bad += f.Bad
	s.Late += f.Late
	s.Spread = s.Spread || f.Spread
	s.FirstBad = append(s.FirstBad, f.FirstBad...)
	s.FirstBad = s.FirstBad[:min(len(s.FirstBad), mostBad)]
}

// merge passes the requests from all files to the function each, in order of time.
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
		l.countProxied(batch)
		if err := each(batch); err != nil {
			return err
		}
		if heads[first] = heads[first][n:]; len(heads[first]) == 0 {
			heads[first] = <-l.files[first].out
		}
	}
}

// countProxied counts the requests whose client is a peer although a header names another, because no need trusts the
// peer. All clients of such a proxy are one key.
func (l *Log) countProxied(batch []Request) {
	if len(l.trusted) == 0 {
		return
	}
	for i := range batch {
		q := &batch[i]
		names := func(h Header) bool { return h.Name == forwardedFor || h.Name == "Forwarded" }
		trusts := func(p route.Proxies) bool { return p.Trusts(q.Client) }
		if !slices.ContainsFunc(q.Headers, names) || slices.ContainsFunc(l.trusted, trusts) {
			continue
		}
		if l.stats.Proxied++; l.stats.Proxied == 1 {
			l.stats.Peer = q.Name
			if q.Client.IsValid() {
				l.stats.Peer = q.Client.String()
			}
		}
	}
}

// earliest returns the indexes of the file with the earliest request and of the file with the next one. An index is -1
// if there is no such file.
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
