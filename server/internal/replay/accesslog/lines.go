package accesslog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits on line length and memory.
const (
	// MaxLine is the maximum length of a line. A longer line counts as bad.
	MaxLine = 64 << 10
	// block is the number of bytes that are read from a file at once.
	block = 256 << 10
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
	mark      = "\xef\xbb\xbf"
)

// otherMagics are the first bytes of files in compressions that are not read.
var otherMagics = []struct{ name, magic string }{
	{"bzip2", "BZh"}, {"xz", "\xfd7zX"}, {"zip", "PK\x03\x04"}, {"lz4", "\x04\x22\x4d\x18"}, {"compress", "\x1f\x9d"}, {"Zstandard", "\x28\xb5\x2f\xfd"},
}

// skipMark skips a byte order mark at the start of the text.
func skipMark(text *bufio.Reader) {
	if head, _ := text.Peek(len(mark)); string(head) == mark { // the next read returns the error again
		_, _ = text.Discard(len(mark))
	}
}

// plain returns a reader for a file's text. It decompresses the file if the first bytes are those of gzip.
func plain(r io.Reader) (*bufio.Reader, error) {
	buffered := bufio.NewReaderSize(r, block)
	head, err := buffered.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if bytes.HasPrefix(head, []byte(gzipMagic)) {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		return bufio.NewReaderSize(unpacker{unpacked}, block), nil
	}
	for _, other := range otherMagics {
		if bytes.HasPrefix(head, []byte(other.magic)) {
			return nil, fmt.Errorf("the file is compressed with %s; accepted: text and gzip; or - for its output on standard input", other.name)
		}
	}
	return buffered, nil
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

// nextLine returns the next line without its end. If a line is longer than MaxLine, it returns tooLong instead. At the
// end, the error is io.EOF.
func nextLine(from *bufio.Reader) (line string, tooLong bool, err error) {
	read, err := from.ReadSlice('\n')
	for errors.Is(err, bufio.ErrBufferFull) {
		tooLong = true
		read, err = from.ReadSlice('\n')
	}
	if errors.Is(err, io.EOF) && (len(read) > 0 || tooLong) {
		err = nil // the last line
	}
	read = bytes.TrimSuffix(read, []byte("\n"))
	if tooLong = tooLong || len(read) > MaxLine; tooLong || err != nil {
		return "", tooLong, err
	}
	return string(bytes.TrimSuffix(read, []byte("\r"))), false, nil
}
