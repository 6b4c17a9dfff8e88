package accesslog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Limits on line length and memory.
const (
	// MaxLine is the maximum length of a line. A longer line counts as bad.
	MaxLine = 64 << 10
	// block is the number of bytes that are read from a file at once.
	block = 256 << 10
	// maxZstdWindow limits the memory that a Zstandard file can make the reader allocate.
	maxZstdWindow = 128 << 20
)

// unpacker explains the error for a compressed file that ends too early, or after which other bytes follow.
type unpacker struct{ io.Reader }

func (u unpacker) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrHeader) {
		err = fmt.Errorf("the compressed file is cut off, or other bytes follow it: %w", err)
	}
	return n, err
}

// These constants are the first bytes of compressed files, and the UTF-8 byte order mark.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
	mark      = "\xef\xbb\xbf"
)

// otherMagics are the first bytes of files in compressions that are not read.
var otherMagics = []struct{ name, magic string }{
	{"bzip2", "BZh"}, {"xz", "\xfd7zX"}, {"zip", "PK\x03\x04"}, {"lz4", "\x04\x22\x4d\x18"}, {"compress", "\x1f\x9d"},
}

// skipMark skips a byte order mark at the start of the text.
func skipMark(text *bufio.Reader) {
	if head, _ := text.Peek(len(mark)); string(head) == mark { // the next read returns the error again
		_, _ = text.Discard(len(mark))
	}
}

// plain returns a reader for a file's text and a function that frees the reader. It decompresses the file if the first
// bytes show that it is compressed.
func plain(r io.Reader) (*bufio.Reader, func(), error) {
	buffered := bufio.NewReaderSize(r, block)
	head, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, nil, fmt.Errorf("gzip: %w", err)
		}
		return bufio.NewReaderSize(unpacker{unpacked}, block), func() {}, nil
	case bytes.HasPrefix(head, []byte(zstdMagic)):
		unpacked, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("zstd: %w", err)
		}
		return bufio.NewReaderSize(unpacker{unpacked}, block), unpacked.Close, nil
	}
	for _, other := range otherMagics {
		if bytes.HasPrefix(head, []byte(other.magic)) {
			return nil, nil, fmt.Errorf("the file is compressed with %s; accepted: text, gzip and Zstandard", other.name)
		}
	}
	return buffered, func() {}, nil
}

// firstLines returns up to 100 lines from the start of a file without consuming them. empty reports whether the file is
// empty.
func firstLines(r *bufio.Reader) (lines []string, empty bool, err error) {
	head, err := r.Peek(MaxLine)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	whole := string(head)
	if err == nil { // there is more, so the last line may be incomplete
		whole = whole[:strings.LastIndexByte(whole, '\n')+1]
	}
	for line := range strings.SplitSeq(whole, "\n") {
		if line = strings.TrimSuffix(line, "\r"); line != "" && len(lines) < 100 {
			lines = append(lines, line)
		}
	}
	return lines, err != nil && len(lines) == 0, nil
}

// lines splits a file into lines. Each block of the file is one string, and its lines are substrings, so that a line
// needs no allocation.
type lines struct {
	from   *bufio.Reader
	buffer []byte
	rest   int  // bytes at the start of buffer that belong to an unfinished line
	long   bool // the unfinished line is too long and is dropped
	text   string
	ended  bool
	failed error // a read error, returned after the lines of text
}

// next returns the next line. If a line is longer than MaxLine, it returns tooLong instead. At the end, the error is
// io.EOF.
func (l *lines) next() (line string, tooLong bool, err error) {
	for {
		if end := strings.IndexByte(l.text, '\n'); end >= 0 {
			line, l.text = l.text[:end], l.text[end+1:]
			return strings.TrimSuffix(line, "\r"), len(line) > MaxLine, nil
		}
		if l.text != "" { // the last line of the file
			line, l.text = l.text, ""
			return strings.TrimSuffix(line, "\r"), len(line) > MaxLine, nil
		}
		switch {
		case l.failed != nil:
			return "", false, l.failed
		case l.ended:
			return "", false, io.EOF
		}
		if tooLong, err = l.fill(); tooLong || err != nil {
			return "", tooLong, err
		}
	}
}

// fill reads a block, and keeps the unfinished line at its end for the next block. tooLong is true if the block ends a
// line that is too long.
func (l *lines) fill() (tooLong bool, err error) {
	if l.buffer == nil {
		l.buffer = make([]byte, block)
	}
	n := l.rest
	for n < len(l.buffer) && !l.ended && l.failed == nil {
		more, err := l.from.Read(l.buffer[n:])
		n += more
		// A truncated compressed file is an error, not the end of the file.
		if l.ended = err == io.EOF; err != nil && !l.ended { //nolint:errorlint // Read returns io.EOF itself
			l.failed = err
		}
	}
	read := l.buffer[:n]
	l.rest = 0
	if l.long {
		end := bytes.IndexByte(read, '\n')
		if end < 0 {
			l.long = !l.ended
			return l.ended, nil
		}
		l.long, tooLong = false, true
		read = read[end+1:]
	}
	cut := len(read)
	if !l.ended {
		cut = bytes.LastIndexByte(read, '\n') + 1
	}
	l.text = string(read[:cut])
	if l.rest = copy(l.buffer, read[cut:]); l.rest > MaxLine {
		l.rest, l.long = 0, true
	}
	return tooLong, nil
}
