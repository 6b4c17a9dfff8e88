// Package page contains the page for operators. It shows which keys are limited, why, and how to change that. The
// page is built from the sources in web/ and embedded, so that a Go program needs nothing else. It calls the admin API
// (docs/reference/admin.yaml) below its own path.
package page

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed dist
var built embed.FS

// policy is the Content-Security-Policy. It lets the page load only its own files and call only its own server. Scripts
// and styles must be separate files, because inline code does not run.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the page's files: / and the files below /assets/. The files contain no data. If [http.StripPrefix]
// mounts the handler below another path, that path must end in a slash, because the page uses relative URLs.
func Handler() http.Handler {
	return http.HandlerFunc(serve)
}

// file is a file of the page, both uncompressed and compressed.
type file struct{ plain, zipped []byte }

// files returns the page's files, which are read and compressed for the first request. They need about 60 KiB.
var files = sync.OnceValue(func() map[string]file {
	all := map[string]file{}
	_ = fs.WalkDir(built, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		plain, err := built.ReadFile(name)
		if err != nil {
			return err
		}
		all[strings.TrimPrefix(name, "dist/")] = file{plain, compressed(plain)}
		return nil
	}) // reading embedded files does not fail
	return all
})

func compressed(plain []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = z.Write(plain)                                 // writing to a buffer does not fail
	_ = z.Close()
	return b.Bytes()
}

var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

func serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "the method must be GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" {
		name = "index.html"
	}
	f, ok := files()[name]
	if !ok {
		h.Set("Cache-Control", "no-store")
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	h.Set("Content-Type", types[path.Ext(name)])
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "assets/") { // the name contains a hash of the content
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("Vary", "Accept-Encoding")
	text := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		text = f.zipped
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(text) // a failed write means that the client is gone
	}
}
