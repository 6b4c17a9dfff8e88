package wire

import (
	"io"
)

// Command is one command: its name followed by its arguments. It is never empty. Words are arbitrary bytes, not
// necessarily UTF-8.
type Command [][]byte

// Reader reads commands from one connection. It is not safe for concurrent use. It allocates nothing per command once
// its slices have grown.
type Reader struct {
	src     io.Reader
	buf     []byte // buf[pos:end] has been read but not yet parsed
	pos     int
	end     int
	batch   []Command // result of the last ReadBatch; its words point into buf
	args    [][]byte  // backs batch
	err     error     // protocol error after the last complete command; it is final
	readErr error     // final error of src

	anonymous bool // the bounds for unauthenticated clients apply
}

// NewReader returns a Reader for the commands in src.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: src, buf: make([]byte, minBuffer)}
}

// SetAnonymous sets whether the client must still authenticate. Until then, a command may contain at most
// MaxAnonymousArgs words and MaxAnonymousCommand bytes, and a batch contains only one command, so that the next command
// is read with the bounds that apply at that time.
func (r *Reader) SetAnonymous(anonymous bool) { r.anonymous = anonymous }

// ReadBatch returns the complete buffered commands, at most MaxBatch. If none exist, it reads from the source
// until there is one. Like Redis, it skips empty commands.
//
// The commands and their bytes are valid until the next call. An error is returned after all commands that precede
// it, and by all later calls. It is a *ProtocolError, io.EOF if the source ends between two commands,
// io.ErrUnexpectedEOF if it ends inside a command, or another error from the source.
func (r *Reader) ReadBatch() ([]Command, error) {
	for {
		r.parse()
		switch {
		case len(r.batch) > 0:
			return r.batch, nil
		case r.err != nil:
			return nil, r.err
		case r.readErr == io.EOF && r.Buffered() > 0:
			return nil, io.ErrUnexpectedEOF
		case r.readErr != nil:
			return nil, r.readErr
		}
		r.fill()
	}
}

// Buffered returns the number of bytes that have been read from the source and not yet returned. During a read from the
// source, these bytes are the beginning of one command, and zero means that no command has begun.
func (r *Reader) Buffered() int { return r.end - r.pos }

// parse collects the complete commands at the front of the buffer. A partial command is parsed again from its start
// when more bytes have arrived. Parsing it again scans at most MaxArgs headers or MaxInline bytes, which costs no
// more than the read.
func (r *Reader) parse() {
	r.batch, r.args = r.batch[:0], r.args[:0]
	in, most := &authenticated, MaxBatch
	if r.anonymous {
		in, most = &anonymous, 1
	}
	for r.err == nil && len(r.batch) < most && len(r.args) < MaxBatchArgs {
		b := r.buf[r.pos:min(r.end, r.pos+in.command)]
		args, n, err := parseCommand(r.args, b, in)
		if n == 0 && err == nil && r.anonymous && len(b) == in.command {
			err = errAnonymousBulk
			if b[0] != '*' {
				err = errTooBigInline
			}
		}
		if n == 0 || err != nil {
			r.err = err
			return
		}
		from := len(r.args)
		r.args, r.pos = args, r.pos+n
		if to := len(args); to > from {
			r.batch = append(r.batch, args[from:to:to])
		}
	}
}

// fill makes room in the buffer and performs a single read. It is called when the buffer contains no complete command.
func (r *Reader) fill() {
	r.makeRoom()
	if r.err != nil {
		return
	}
	// A source may occasionally return no bytes and no error, but must not do so forever.
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.readErr = err
		if n > 0 || err != nil {
			return
		}
	}
	r.readErr = io.ErrNoProgress
}

// makeRoom moves the unfinished command to the front of the buffer, and doubles the buffer if the command fills it.
// Only a long command makes the buffer grow, never a long pipeline. The memory is freed after the command has been
// answered.
func (r *Reader) makeRoom() {
	r.end = copy(r.buf, r.buf[r.pos:r.end])
	r.pos = 0
	switch {
	case r.end == 0 && len(r.buf) > minBuffer:
		r.buf, r.batch, r.args = make([]byte, minBuffer), nil, nil
	case r.end < len(r.buf):
	case len(r.buf) >= MaxCommand:
		r.err = errTooBigCommand
	default:
		grown := make([]byte, min(2*len(r.buf), MaxCommand))
		copy(grown, r.buf)
		r.buf = grown
	}
}

// bounds holds the bounds for one command.
type bounds struct{ args, word, command int }

var (
	authenticated = bounds{MaxArgs, MaxBulk, MaxCommand}
	anonymous     = bounds{MaxAnonymousArgs, MaxAnonymousCommand, MaxAnonymousCommand}
)

// parseCommand appends the words of the command at the front of b to args and returns the number of bytes consumed. n
// is 0 while the command is incomplete; the words must then be discarded. An empty command consumes bytes and appends
// nothing. Later bytes in b do not affect the result, so a command is parsed in the same way however its bytes
// arrive.
func parseCommand(args [][]byte, b []byte, in *bounds) (_ [][]byte, n int, err error) {
	switch {
	case len(b) == 0:
		return args, 0, nil
	case b[0] == '*':
		return parseMultibulk(args, b, in)
	default:
		return parseInline(args, b, in.args)
	}
}

// parseMultibulk parses an array of bulk strings: *2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n.
func parseMultibulk(args [][]byte, b []byte, in *bounds) (_ [][]byte, n int, err error) {
	count, used, err := parseLength(b[1:], MaxArgs, errMultibulkLength, errMultibulkHeader)
	switch {
	case used == 0 || err != nil:
		return args, 0, err
	case count > in.args:
		return args, 0, errAnonymousArgs
	}
	pos := 1 + used
	for range count { // the null array, whose count is -1, has no iterations
		word, used, err := parseBulk(b[pos:], in)
		if used == 0 || err != nil {
			return args, 0, err
		}
		args = append(args, word)
		pos += used
	}
	return args, pos, nil
}

// parseBulk parses one bulk string, $2\r\nhi\r\n, and returns its data as a slice of b. A null string is not a valid
// word.
func parseBulk(b []byte, in *bounds) (word []byte, n int, err error) {
	if len(b) == 0 {
		return nil, 0, nil
	}
	if b[0] != '$' {
		return nil, 0, errNotBulk(b[0])
	}
	size, used, err := parseLength(b[1:], MaxBulk, errBulkLength, errBulkHeader)
	if used == 0 || err != nil {
		return nil, 0, err
	}
	switch {
	case size < 0:
		return nil, 0, errBulkLength
	case size > in.word:
		return nil, 0, errAnonymousBulk
	}
	from, to := 1+used, 1+used+size
	if len(b) < to+2 {
		return nil, 0, nil
	}
	if b[to] != '\r' || b[to+1] != '\n' {
		return nil, 0, errBulkEnd
	}
	return b[from:to:to], to + 2, nil
}

// parseLength parses a decimal number from -1 to limit and its CRLF. n is the number of bytes consumed, or 0 if more
// bytes are needed. The error is wrong for an invalid number, and endless for a line that is too long.
func parseLength(b []byte, limit int, wrong, endless *ProtocolError) (value, n int, err error) {
	i := 0
	for i < len(b) && i <= maxHeader && b[i] != '\r' {
		i++
	}
	switch {
	case i > maxHeader:
		return 0, 0, endless
	case i+1 >= len(b):
		return 0, 0, nil
	case b[i+1] != '\n':
		return 0, 0, wrong
	}
	value, ok := parseDecimal(b[:i], limit)
	if !ok {
		return 0, 0, wrong
	}
	return value, i + 2, nil
}

// parseDecimal accepts -1, and 0 to limit, in their shortest form, without a plus sign, leading zeros or blanks. ok is
// false for any other text.
func parseDecimal(b []byte, limit int) (value int, ok bool) {
	if string(b) == "-1" {
		return -1, true
	}
	if len(b) == 0 || b[0] == '0' && len(b) > 1 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		if value = 10*value + int(c-'0'); value > limit {
			return 0, false
		}
	}
	return value, true
}
