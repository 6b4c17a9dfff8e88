package httplimit

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// recorder is a ResponseWriter that records the status and counts the bytes of the body.
type recorder struct {
	writer http.ResponseWriter
	status int // 0 until written
	bytes  int64
}

func (r *recorder) Header() http.Header { return r.writer.Header() }

// WriteHeader records the first final status. Statuses 100 to 199 are interim, except 101, which is final.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		r.status = status
	}
	r.writer.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	n, err := r.writer.Write(p)
	r.wrote(int64(n))
	return n, err
}

// WriteString avoids copying the text if the server's writer supports it.
func (r *recorder) WriteString(s string) (int, error) {
	n, err := io.WriteString(r.writer, s)
	r.wrote(int64(n))
	return n, err
}

func (r *recorder) wrote(n int64) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.bytes += n
}

// Unwrap returns the server's writer, for [http.ResponseController].
func (r *recorder) Unwrap() http.ResponseWriter { return r.writer }

func (r *recorder) response(returned bool) Response {
	o := Response{Status: r.status, Bytes: r.bytes}
	switch {
	case o.Status == 0 && returned:
		o.Status = http.StatusOK
	case o.Status == 0:
		o.Status = http.StatusInternalServerError
	}
	return o
}

// The optional capabilities of a ResponseWriter.
type (
	flusher    struct{ r *recorder }
	hijacker   struct{ r *recorder }
	readerFrom struct{ r *recorder }
)

// Flush sends everything written so far, including the status.
func (f flusher) Flush() { _ = f.FlushError() }

// FlushError is Flush for [http.ResponseController].
func (f flusher) FlushError() error {
	f.r.wrote(0)
	return http.NewResponseController(f.r.writer).Flush()
}

// Hijack gives the handler control of the connection.
func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffer, err := http.NewResponseController(h.r.writer).Hijack()
	if err == nil && h.r.status == 0 {
		h.r.status = http.StatusSwitchingProtocols
	}
	return conn, buffer, err
}

// ReadFrom lets the server send a file without copying it.
func (f readerFrom) ReadFrom(from io.Reader) (int64, error) {
	n, err := f.r.writer.(io.ReaderFrom).ReadFrom(from)
	f.r.wrote(n)
	return n, err
}

// like returns a wrapper of the recorder with exactly the optional interfaces that w implements, because handlers use
// type assertions to find them. (HTTP/2 Push, which browsers no longer support, is available through Unwrap.)
func (r *recorder) like(w http.ResponseWriter) http.ResponseWriter {
	_, flushes := w.(http.Flusher)
	_, hijacks := w.(http.Hijacker)
	_, reads := w.(io.ReaderFrom)
	f, h, rf := flusher{r}, hijacker{r}, readerFrom{r}
	switch {
	case flushes && hijacks && reads:
		return struct {
			*recorder
			flusher
			hijacker
			readerFrom
		}{r, f, h, rf}
	case flushes && hijacks:
		return struct {
			*recorder
			flusher
			hijacker
		}{r, f, h}
	case flushes && reads:
		return struct {
			*recorder
			flusher
			readerFrom
		}{r, f, rf}
	case hijacks && reads:
		return struct {
			*recorder
			hijacker
			readerFrom
		}{r, h, rf}
	case flushes:
		return struct {
			*recorder
			flusher
		}{r, f}
	case hijacks:
		return struct {
			*recorder
			hijacker
		}{r, h}
	case reads:
		return struct {
			*recorder
			readerFrom
		}{r, rf}
	default:
		return r
	}
}
