// Command testkey creates a key pair without a password, for tests of a release.
package main

import (
	"fmt"
	"os"

	"aead.dev/minisign"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "testkey:", err)
		os.Exit(1)
	}
}

func run(paths []string) error {
	if len(paths) != 2 {
		return fmt.Errorf("%d arguments; usage: testkey SECRET PUBLIC", len(paths))
	}
	public, secret, err := minisign.GenerateKey(nil)
	if err != nil {
		return err
	}
	for i, key := range []interface{ MarshalText() ([]byte, error) }{secret, public} {
		text, err := key.MarshalText()
		if err != nil {
			return err
		}
		if err := os.WriteFile(paths[i], text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
