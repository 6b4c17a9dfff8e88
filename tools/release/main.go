// Command release creates the files of a release from a commit: archives, packages, an image, bills of materials,
// checksums and their signature.
//
//	cd tools/release && GOWORK=off go run . -version v0.9.0 -key headgate.key
//
// Two runs on the same commit with the same version of Go create equal files, because all times come from the commit
// and no files on the machine are used.
//
//	source.go   the commit and the version
//	build.go    binaries
//	papers.go   manual pages, completions, licences, the unit
//	archive.go  tar.gz and zip
//	package.go  deb and rpm
//	image.go    the image, as an OCI layout
//	sbom.go     a bill of materials for each binary
//	notes.go    the section from CHANGELOG.md
//	sums.go     SHA256SUMS
//	sign.go     its signature
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options holds the values of the command-line flags.
type options struct{ version, source, out, key, passwordFile string }

func run(args []string) error {
	var o options
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&o.version, "version", "", "the version, such as v0.9.0")
	flags.StringVar(&o.source, "source", "../..", "the root of the repository")
	flags.StringVar(&o.out, "out", "../../bin/release", "the folder for the files; it is replaced")
	flags.StringVar(&o.key, "key", "", "the file with the secret key of minisign; without it the release is not signed")
	flags.StringVar(&o.passwordFile, "key-password-file", "", "the file with the password of the key; without it the terminal is asked")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("%q is one argument too many; accepted: flags", flags.Arg(0))
	}
	src, err := readSource(o.source, o.version)
	if err != nil {
		return err
	}
	// Read the key first, so that the password prompt does not come after minutes of building.
	signer, err := readKey(o.key, o.passwordFile)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "headgate-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	out, err := emptied(o.out)
	if err != nil {
		return err
	}
	r := &release{source: src, work: work, out: out}
	if err := r.make(); err != nil {
		return err
	}
	return r.seal(signer)
}

// marker is a file in every release. A directory that contains it may be emptied for a new release.
const marker = "SHA256SUMS"

// emptied returns an empty directory. It removes an earlier release, but no other files.
func emptied(folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	found, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(folder, marker)); len(found) > 0 && err != nil {
		return "", fmt.Errorf("-out %s has files and no %s; accepted: an empty folder, or one with an earlier release", folder, marker)
	}
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	return folder, os.MkdirAll(folder, 0o755)
}
