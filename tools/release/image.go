package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the user and group id of the image. Systems do not assign this id to people or services.
const user = "65532:65532"

// image writes an OCI layout as one tar file, with an image for each Linux architecture.
func (r *release) image(binaries map[target]string, p *papers) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, t := range targets {
		if t.os != "linux" {
			continue
		}
		img, err := r.imageOf(t, binaries[t], p)
		if err != nil {
			return err
		}
		platform := &v1.Platform{OS: t.os, Architecture: t.arch}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: platform}})
	}
	annotated, _ := mutate.Annotations(index, r.annotations()).(v1.ImageIndex)
	folder := filepath.Join(r.work, "image")
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(annotated, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version})); err != nil {
		return err
	}
	files, err := filesIn(folder)
	if err != nil {
		return err
	}
	return write(r.named("image.tar"), func(w *os.File) error { return writeTar(w, files, r.time) })
}

// annotations are defined by the OCI specification. Tools also show them as labels.
func (r *release) annotations() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    "headgate",
		"org.opencontainers.image.version":  r.version,
		"org.opencontainers.image.revision": r.commit,
		"org.opencontainers.image.created":  r.time.Format(time.RFC3339),
		"org.opencontainers.image.source":   homepage,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
}

// imageOf returns the image for one architecture: the program, certificates and licenses, without a shell. The server
// does not write files, so the root can be read-only.
func (r *release) imageOf(t target, binary string, p *papers) (v1.Image, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, files := range [][]file{
		{
			{"etc/ssl/certs/ca-certificates.crt", p.certificates, 0o644},
			{"licenses/LICENSE", filepath.Join(p.root, "LICENSE"), 0o644},
			{"licenses/NOTICES", p.notices, 0o644},
		},
		{{"headgate", binary, 0o755}},
	} {
		layer, err := r.layer(files)
		if err != nil {
			return nil, err
		}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "headgate release"}}); err != nil {
			return nil, err
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created, config.Author = t.os, t.arch, v1.Time{Time: r.time}, ""
	config.Config = v1.Config{
		User:       user,
		Entrypoint: []string{"/headgate"},
		// A server in a container listens on all addresses.
		Cmd:          []string{"serve", "--resp", "0.0.0.0:6380", "--http", "0.0.0.0:8080"},
		ExposedPorts: map[string]struct{}{"6380/tcp": {}, "8080/tcp": {}},
		WorkingDir:   "/",
		Labels:       r.annotations(),
		Healthcheck:  &v1.HealthConfig{Test: []string{"CMD", "/headgate", "health"}, Interval: 10 * time.Second, Timeout: 3 * time.Second, StartPeriod: 2 * time.Second, Retries: 3},
	}
	return mutate.ConfigFile(img, config)
}

func (r *release) layer(files []file) (v1.Layer, error) {
	var b bytes.Buffer
	if err := writeTar(&b, files, r.time); err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }
	return tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer))
}

// filesIn returns the files in a directory, sorted by name.
func filesIn(folder string) (files []file, err error) {
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		files = append(files, file{filepath.ToSlash(name), path, 0o644})
		return err
	})
	return files, err
}
