package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// file is a file in an archive, or in a layer of the image.
type file struct {
	name string // with slashes; parent directories are created
	path string // on this machine
	mode fs.FileMode
}

// archive writes the archive for a target.
func (r *release) archive(t target, binary string, p *papers) error {
	top := "headgate_" + r.version + "_" + t.String()
	files := []file{{top + "/" + filepath.Base(binary), binary, 0o755}}
	for _, f := range p.archived(t) {
		files = append(files, file{top + "/" + f.name, f.path, f.mode})
	}
	if t.os == "windows" {
		return write(r.named("%s.zip", t), func(w *os.File) error { return writeZip(w, files, r.time) })
	}
	return writeTarGz(r.named("%s.tar.gz", t), files, r.time)
}

// writeTarGz writes a compressed tar file.
func writeTarGz(path string, files []file, at time.Time) error {
	return write(path, func(w *os.File) error {
		compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		if err := writeTar(compressed, files, at); err != nil {
			return err
		}
		return compressed.Close()
	})
}

// writeTar writes files and their parent directories. All are owned by root.
func writeTar(w io.Writer, files []file, at time.Time) error {
	t := tar.NewWriter(w)
	made := map[string]bool{}
	for _, f := range files {
		if err := folders(t, path.Dir(f.name), at, made); err != nil {
			return err
		}
		data, err := os.ReadFile(f.path)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: f.name, Mode: int64(f.mode), Size: int64(len(data)), ModTime: at, Format: tar.FormatPAX, Typeflag: tar.TypeReg}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		if _, err := t.Write(data); err != nil {
			return err
		}
	}
	return t.Close()
}

// folders writes a directory and its parents, unless they were already written.
func folders(t *tar.Writer, folder string, at time.Time, made map[string]bool) error {
	if folder == "." || made[folder] {
		return nil
	}
	if err := folders(t, path.Dir(folder), at, made); err != nil {
		return err
	}
	made[folder] = true
	return t.WriteHeader(&tar.Header{Name: strings.TrimSuffix(folder, "/") + "/", Mode: 0o755, ModTime: at, Format: tar.FormatPAX, Typeflag: tar.TypeDir})
}

func writeZip(w io.Writer, files []file, at time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		data, err := os.ReadFile(f.path)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		entry, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(data); err != nil {
			return err
		}
	}
	return z.Close()
}
