package accesslog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

type file struct {
	log    *Log
	name   string
	index  int
	format taken
	lines  *bufio.Reader
	order  order
	opened *os.File // nil for standard input

	number int64 // number of the last line read
	stats  Stats
	out    chan []Request
	err    error
}

// open opens the file and detects its format.
func (f *file) open(stdin io.Reader) error {
	from := stdin
	if f.name == "-" {
		f.name = "standard input"
	} else {
		opened, err := os.Open(f.name)
		if err != nil {
			return err
		}
		f.opened = opened
		from = opened
	}
	text, err := plain(from)
	if err != nil {
		return err
	}
	skipMark(text)
	first, empty, err := firstLines(text)
	if err != nil {
		return err
	}
	f.lines = text
	if empty { // such as a log that has just been rotated
		f.format = taken{reader: new(template), about: "empty", empty: true}
		return nil
	}
	f.format, err = f.log.options.choose(first)
	return err
}

// run reads the file and sends its requests, sorted by time, in batches to the channel f.out.
func (f *file) run(ctx context.Context) error {
	var ordered []Request
	for {
		err := f.readLine()
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return err
		}
		if !ended && !f.order.full() {
			continue
		}
		ordered = f.order.take(ordered[:0], ended)
		for from := 0; from < len(ordered); from += batchSize {
			batch := append([]Request(nil), ordered[from:min(from+batchSize, len(ordered))]...)
			select {
			case f.out <- batch:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if ended {
			f.stats.Late, f.stats.Spread = f.order.late, f.order.whole && f.stats.Lines > f.stats.Bad
			return nil
		}
	}
}

// readLine reads one line. It counts a line that is not a request as bad.
func (f *file) readLine() error {
	line, tooLong, err := nextLine(f.lines)
	switch {
	case err == io.EOF: //nolint:errorlint // nextLine returns io.EOF itself
		return err
	case err != nil:
		return fmt.Errorf("after line %d: %w", f.number, err)
	}
	f.number++
	if line == "" && !tooLong {
		return nil
	}
	f.stats.Lines++
	q := Request{Size: -1, File: f.index, Line: f.number, Host: f.log.options.Host}
	if tooLong {
		err = fmt.Errorf("longer than %d bytes", MaxLine)
	} else {
		err = f.format.read(line, &q)
	}
	if errors.Is(err, errRedacted) {
		return fmt.Errorf("line %d: %w", f.number, err)
	}
	if err == nil {
		f.order.add(&q)
		return nil
	}
	f.stats.Bad++
	if len(f.stats.FirstBad) < mostBad {
		f.stats.FirstBad = append(f.stats.FirstBad, BadLine{File: f.name, Line: f.number, Reason: strings.TrimPrefix(err.Error(), "headgate: ")})
	}
	return nil
}
