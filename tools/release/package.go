package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

const (
	homepage   = "https://github.com/headgate/headgate"
	maintainer = "The Headgate authors <headgate@users.noreply.github.com>"
)

const (
	summary = "rate limiter that says what it promises, and keeps it"
	details = `A server that decides whether a request may pass. Clients speak RESP (as to
Redis), HTTP or Envoy's gRPC, or it stands in front of an upstream as a
gateway. Limits are kept in memory, or on Redis for many servers.`
)

// packages writes the deb and rpm packages for a target.
func (r *release) packages(t target, binary string, p *papers) error {
	rpmArch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[t.arch]
	for _, k := range []struct {
		packager nfpm.Packager
		name     string
		path     string
	}{
		{deb.Default, "deb", filepath.Join(r.out, fmt.Sprintf("headgate_%s-1_%s.deb", debianVersion(r.version), t.arch))},
		{rpm.DefaultRPM, "rpm", filepath.Join(r.out, fmt.Sprintf("headgate-%s-1.%s.rpm", debianVersion(r.version), rpmArch))},
	} {
		info, err := r.packageInfo(t, k.name, binary, p)
		if err != nil {
			return err
		}
		if err := nfpm.PrepareForPackager(info, k.name); err != nil {
			return err
		}
		if err := write(k.path, func(w *os.File) error { return k.packager.Package(info, w) }); err != nil {
			return err
		}
	}
	return nil
}

// debianVersion returns the version for deb and rpm, where 1.0~rc.1 is older than 1.0.
func debianVersion(version string) string { return strings.Replace(version, "-", "~", 1) }

func (r *release) packageInfo(t target, kind, binary string, p *papers) (*nfpm.Info, error) {
	contents, err := r.contents(kind, binary, p)
	if err != nil {
		return nil, err
	}
	scripts := filepath.Join(r.root, "deploy", "package")
	info := &nfpm.Info{
		Name: "headgate", Arch: t.arch, Platform: t.os, Version: r.version, Release: "1", VersionSchema: "semver",
		Section: "net", Priority: "optional", Maintainer: maintainer, Vendor: "Headgate", Homepage: homepage, License: "Apache-2.0",
		Description: summary + "\n" + details, MTime: r.time, DisableGlobbing: true,
	}
	info.Contents = contents
	info.Scripts = nfpm.Scripts{
		PostInstall: filepath.Join(scripts, "postinstall"), PreRemove: filepath.Join(scripts, "preremove"), PostRemove: filepath.Join(scripts, "postremove"),
	}
	if kind == "rpm" {
		info.Description, info.Changelog = details, p.changes
		info.RPM = nfpm.RPM{BuildHost: "headgate", Summary: "R" + summary[1:], Group: "System Environment/Daemons", Packager: maintainer, Compression: "zstd"}
	}
	return nfpm.WithDefaults(info), nil
}

// contents returns the files in a package. Upgrades keep a modified policies file.
func (r *release) contents(kind, binary string, p *papers) (files.Contents, error) {
	contents := files.Contents{
		r.content("config|noreplace", "/etc/headgate/policies.yaml", filepath.Join(r.root, "deploy", "policies.yaml")),
		r.content("", "/usr/bin/headgate", binary),
		r.content("", "/usr/lib/systemd/system/headgate.service", p.unit),
		r.content("", "/usr/share/bash-completion/completions/headgate", p.bash),
		r.content("", "/usr/share/fish/vendor_completions.d/headgate.fish", p.fish),
		r.content(document(kind), "/usr/share/doc/headgate/README.md", filepath.Join(r.root, "README.md")),
	}
	contents[1].FileInfo.Mode = 0o755
	own, zipped := r.ofKind(kind, p)
	contents = append(contents, own...)
	for _, path := range append(p.manuals, zipped...) {
		compressed, err := r.packed(path)
		if err != nil {
			return nil, err
		}
		folder := "/usr/share/man/man1/"
		if !strings.HasSuffix(path, ".1") {
			folder = "/usr/share/doc/headgate/"
		}
		contents = append(contents, r.content(document(kind), folder+filepath.Base(compressed), compressed))
	}
	return contents, nil
}

// ofKind returns the files whose paths depend on the kind of package, and the documents that must be compressed.
func (r *release) ofKind(kind string, p *papers) (own files.Contents, zipped []string) {
	if kind == "rpm" {
		return files.Contents{
			r.content("", "/usr/share/zsh/site-functions/_headgate", p.zsh),
			r.content(files.TypeRPMLicense, "/usr/share/licenses/headgate/LICENSE", filepath.Join(r.root, "LICENSE")),
			r.content(files.TypeRPMLicense, "/usr/share/licenses/headgate/NOTICES", p.notices),
		}, nil
	}
	scripts := filepath.Join(r.root, "deploy", "package")
	return files.Contents{
		r.content("", "/usr/share/zsh/vendor-completions/_headgate", p.zsh),
		r.content("", "/usr/share/doc/headgate/copyright", filepath.Join(scripts, "copyright")),
		r.content("", "/usr/share/doc/headgate/changelog.Debian.gz", p.changelog),
		r.content("", "/usr/share/lintian/overrides/headgate", filepath.Join(scripts, "lintian-overrides")),
	}, []string{p.notices}
}

// document returns the file type for documents in a kind of package. It returns "" except for rpm, because only rpm
// marks documents.
func document(kind string) string {
	if kind == "rpm" {
		return files.TypeRPMDoc
	}
	return ""
}

func (r *release) content(kind, name, path string) *files.Content {
	return &files.Content{
		Source: path, Destination: name, Type: kind,
		FileInfo: &files.ContentFileInfo{Mode: 0o644, MTime: r.time, Owner: "root", Group: "root"},
	}
}
