package wire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/headgate/headgate/server/internal/resp/resptest"
)

// readAll reads all commands from src, and the error at the end. It copies the words, because a Reader reuses their
// memory.
func readAll(src io.Reader) (commands [][]string, err error) {
	r := NewReader(src)
	for {
		batch, err := r.ReadBatch()
		if err != nil {
			return commands, err
		}
		for _, command := range batch {
			words := make([]string, len(command))
			for i, word := range command {
				words[i] = string(word)
			}
			commands = append(commands, words)
		}
	}
}

func TestCommands(t *testing.T) {
	big := strings.Repeat("x", MaxBulk)
	tests := []struct {
		name, in string
		want     [][]string
	}{
		{"nothing", "", nil},
		{"multibulk", "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n", [][]string{{"ECHO", "hi"}}},
		{"pipeline", "*1\r\n$1\r\na\r\nb c\r\n*1\r\n$1\r\nd\r\n", [][]string{{"a"}, {"b", "c"}, {"d"}}},
		{"empty array is skipped", "*0\r\n*1\r\n$1\r\na\r\n", [][]string{{"a"}}},
		{"null array is skipped", "*-1\r\n*1\r\n$1\r\na\r\n", [][]string{{"a"}}},
		{"empty lines are skipped", "\r\n\n  \t\r\nPING\r\n\r\n", [][]string{{"PING"}}},
		{"empty word", "*2\r\n$1\r\na\r\n$0\r\n\r\n", [][]string{{"a", ""}}},
		{"data that looks like RESP", "*1\r\n$6\r\n$3\r\n\r\n\r\n", [][]string{{"$3\r\n\r\n"}}},
		{"data is any bytes", "*1\r\n$3\r\n\xff\x00\n\r\n", [][]string{{"\xff\x00\n"}}},
		{"longest word", "*1\r\n$65536\r\n" + big + "\r\n", [][]string{{big}}},
		{"longest line", big[:MaxInline-1] + "\r\n", [][]string{{big[:MaxInline-1]}}},
		{"line ends with LF alone", "PING\n", [][]string{{"PING"}}},
		{"array is spelled with one byte", "+PING\r\n", [][]string{{"+PING"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := readAll(strings.NewReader(test.in))
			if err != io.EOF || !slices.EqualFunc(got, test.want, slices.Equal) {
				t.Errorf("read %.100q, %v; want %.100q, EOF", got, err, test.want)
			}
		})
	}
}

// TestProtocolErrors sends a complete PING before each input. The PING must be returned before the error.
func TestProtocolErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"huge array", "*9999999999\r\n", "invalid multibulk length"},
		{"beyond 64 bits", "*99999999999999999999\r\n", "invalid multibulk length"},
		{"more words than allowed", "*1025\r\n", "invalid multibulk length"},
		{"negative array", "*-2\r\n", "invalid multibulk length"},
		{"minus zero", "*-0\r\n", "invalid multibulk length"},
		{"plus sign", "*+1\r\n", "invalid multibulk length"},
		{"leading zero", "*01\r\n", "invalid multibulk length"},
		{"blank in number", "* 1\r\n", "invalid multibulk length"},
		{"garbage number", "*1x\r\n", "invalid multibulk length"},
		{"no number", "*\r\n", "invalid multibulk length"},
		{"header with lone CR", "*1\r$", "invalid multibulk length"},
		{"header with lone LF", "*1\n$4\r\n", "invalid multibulk length"},
		{"array header without end", "*" + strings.Repeat("1", 1000), "too big mbulk count string"},
		{"nested array", "*1\r\n*1\r\n$1\r\na\r\n", "expected '$', got '*'"},
		{"word is an integer", "*1\r\n:1\r\n", "expected '$', got ':'"},
		{"word begins with a control byte", "*1\r\n\x00", `expected '$', got '\x00'`},
		{"word begins with a high byte", "*1\r\n\xff", `expected '$', got '\u00ff'`},
		{"huge word", "*1\r\n$9999999999\r\n", "invalid bulk length"},
		{"word beyond the bound", "*1\r\n$65537\r\n", "invalid bulk length"},
		{"null word", "*1\r\n$-1\r\n", "invalid bulk length"},
		{"negative word", "*1\r\n$-5\r\n", "invalid bulk length"},
		{"word header with lone LF", "*1\r\n$1\na\r\n", "invalid bulk length"},
		{"word header without end", "*1\r\n$" + strings.Repeat("1", 1000), "too big bulk count string"},
		{"word longer than announced", "*1\r\n$1\r\nabc\r\n", "expected CRLF after bulk string"},
		{"word ends with lone LF", "*1\r\n$1\r\na\nPING", "expected CRLF after bulk string"},
		{"line without end", strings.Repeat("x", 1<<20), "too big inline request"},
		{"line just too long", strings.Repeat("x", MaxInline) + "\r\n", "too big inline request"},
		{"line of too many words", strings.Repeat("x ", MaxArgs+1) + "\r\n", "too many arguments in inline request"},
		{"lone CR in line", "PING\rPING\n", "CR without LF in inline request"},
		{"double quotes", "ECHO \"a\"\r\n", "quotes in inline request; accepted: words without quotes, or an array"},
		{"single quote", "ECHO it's\r\n", "quotes in inline request; accepted: words without quotes, or an array"},
		{"command larger than the buffer", "*1024\r\n" + strings.Repeat("$2000\r\n"+strings.Repeat("x", 2000)+"\r\n", 1024), "too big request"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := NewReader(strings.NewReader("*1\r\n$4\r\nPING\r\n" + test.in))
			if batch, err := r.ReadBatch(); err != nil || len(batch) != 1 || string(batch[0][0]) != "PING" {
				t.Fatalf("first batch is %q, %v; want PING", batch, err)
			}
			for range 2 { // a further call returns the same error
				_, err := r.ReadBatch()
				var protocol *ProtocolError
				if !errors.As(err, &protocol) || protocol.Reason != test.want {
					t.Errorf("got error %v, want %q", err, test.want)
				}
			}
		})
	}
}

func TestLengthsTakeNoMemory(t *testing.T) {
	in := "*1024\r\n$65536\r\n" + strings.Repeat("x", 100)
	r := NewReader(strings.NewReader(in))
	if _, err := r.ReadBatch(); err != io.ErrUnexpectedEOF {
		t.Errorf("got error %v, want unexpected EOF", err)
	}
	if len(r.buf) != minBuffer || cap(r.args) > MaxArgs {
		t.Errorf("buffer grew to %d bytes and %d words for %d bytes of input", len(r.buf), cap(r.args), len(in))
	}
}

// TestAnonymousBatches (regression: bug 69): until a client has authenticated, a batch contains a single command, so
// that the next command is read with the bounds that apply at that time, and the buffer does not grow.
func TestAnonymousBatches(t *testing.T) {
	word := strings.Repeat("x", MaxAnonymousCommand-len("*1\r\n$16370\r\n\r\n"))
	exact := "*1\r\n$" + strconv.Itoa(len(word)) + "\r\n" + word + "\r\n"
	for _, src := range []io.Reader{strings.NewReader(exact + "PING\r\nPING\r\n"), iotest.OneByteReader(strings.NewReader(exact + "PING\r\nPING\r\n"))} {
		r := NewReader(src)
		r.SetAnonymous(true)
		for i, want := range []string{word, "PING", "PING"} {
			if batch, err := r.ReadBatch(); err != nil || len(batch) != 1 || string(batch[0][0]) != want {
				t.Fatalf("batch %d: %.40q, %v; want one command", i, batch, err)
			}
		}
		if len(r.buf) != minBuffer {
			t.Errorf("the buffer has %d bytes, want %d", len(r.buf), minBuffer)
		}
	}
	for _, c := range []struct {
		name, in string
		want     error
	}{
		{"16 385 bytes", "*1\r\n$16371\r\n" + strings.Repeat("x", 16371) + "\r\n", errAnonymousBulk},
		{"an announced word of 16 385 bytes", "*1\r\n$16385\r\n", errAnonymousBulk},
		{"11 words", "*11\r\n", errAnonymousArgs},
		{"a line of 16 385 bytes", strings.Repeat("x", 16384) + "\n", errTooBigInline},
		{"a line of 11 words", strings.Repeat("x ", 11) + "\n", errTooManyWords},
	} {
		r := NewReader(strings.NewReader(c.in))
		r.SetAnonymous(true)
		if _, err := r.ReadBatch(); err != c.want {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestSourceErrors(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name string
		src  io.Reader
		want error
	}{
		{"end inside a command", strings.NewReader("*1\r\n$4\r\nPI"), io.ErrUnexpectedEOF},
		{"end inside a line", strings.NewReader("PING"), io.ErrUnexpectedEOF},
		{"error of the source", io.MultiReader(strings.NewReader("PI"), iotest.ErrReader(broken)), broken},
		{"source without progress", noProgress{}, io.ErrNoProgress},
	}
	for _, test := range tests {
		if _, err := readAll(test.src); err != test.want {
			t.Errorf("%s: got error %v, want %v", test.name, err, test.want)
		}
	}
	// If a Read returns data together with an error, the data is processed first.
	got, err := readAll(iotest.DataErrReader(strings.NewReader("PING\r\n")))
	if len(got) != 1 || err != io.EOF {
		t.Errorf("read %q, %v; want one PING and EOF", got, err)
	}
}

type noProgress struct{}

func (noProgress) Read([]byte) (int, error) { return 0, nil }

func TestBatchIsBounded(t *testing.T) {
	const n = 3 * MaxBatch
	r := NewReader(strings.NewReader(strings.Repeat("a\n", n)))
	total := 0
	for total < n {
		batch, err := r.ReadBatch()
		if err != nil || len(batch) > MaxBatch {
			t.Fatalf("batch of %d commands, %v", len(batch), err)
		}
		total += len(batch)
	}

	r = NewReader(strings.NewReader(strings.Repeat(strings.Repeat("a ", MaxArgs)+"\n", 100)))
	for {
		_, err := r.ReadBatch()
		if len(r.args) >= MaxBatchArgs+MaxArgs {
			t.Fatalf("batch of %d words", len(r.args))
		}
		if err != nil {
			break
		}
	}
}

func TestOneReadPerBatch(t *testing.T) {
	src := &countingReader{src: strings.NewReader(strings.Repeat("*1\r\n$4\r\nPING\r\n", 64))}
	r := NewReader(src)
	batch, err := r.ReadBatch()
	if len(batch) != 64 || err != nil || src.reads != 1 {
		t.Errorf("got %d commands and %v by %d reads; want 64 by 1", len(batch), err, src.reads)
	}
}

type countingReader struct {
	src   io.Reader
	reads int
}

func (r *countingReader) Read(p []byte) (int, error) {
	r.reads++
	return r.src.Read(p)
}

func TestBufferShrinks(t *testing.T) {
	long := resptest.AppendCommand(nil, "ECHO", strings.Repeat("x", MaxBulk))
	src, in := io.Pipe()
	r := NewReader(src)
	go func() {
		in.Write(long)
		in.Write([]byte("PING\r\n"))
		in.Close()
	}()
	for range 2 {
		if _, err := r.ReadBatch(); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.buf) != minBuffer {
		t.Errorf("buffer holds %d bytes after a long command was answered, want %d", len(r.buf), minBuffer)
	}
}

// loop repeats the same input forever.
type loop struct{ in []byte }

func (l loop) Read(p []byte) (int, error) { return copy(p, l.in), nil }

func TestNoAllocationPerCommand(t *testing.T) {
	var pipeline []byte
	for i := range 64 {
		pipeline = resptest.AppendCommand(pipeline, "CL.THROTTLE", "key:"+strconv.Itoa(i), "15", "30", "60", "1")
		pipeline = append(pipeline, "ECHO a b\r\n"...)
	}
	r := NewReader(loop{pipeline})
	read := func() {
		if _, err := r.ReadBatch(); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if n := testing.AllocsPerRun(100, read); n != 0 {
		t.Errorf("a batch of 128 commands takes %v allocations, want none", n)
	}
}

func BenchmarkReadBatch(b *testing.B) {
	one := resptest.AppendCommand(nil, "CL.THROTTLE", "key:0123456789", "15", "30", "60", "1")
	const n = 64
	r := NewReader(loop{bytes.Repeat(one, n)})
	b.SetBytes(int64(n * len(one)))
	b.ReportAllocs()
	for b.Loop() {
		if batch, err := r.ReadBatch(); len(batch) != n || err != nil {
			b.Fatal(len(batch), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*b.N), "ns/command")
}
