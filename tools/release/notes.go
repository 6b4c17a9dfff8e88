package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const unreleased = "Unreleased"

// notes writes the version's section of CHANGELOG.md.
func (r *release) notes() error {
	data, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	text, ok := section(string(data), r.version)
	if !ok {
		if text, ok = section(string(data), unreleased); !ok {
			return fmt.Errorf("CHANGELOG.md has no section of the version; accepted: a line \"## v%s - %s\" above its changes", r.version, r.time.Format("2006-01-02"))
		}
		r.sayf("*** CHANGELOG.md has no section %s: the notes are those of %q ***", r.version, unreleased)
	}
	text = fmt.Sprintf("# Headgate %s\n\nCommit %s.\n\n%s\n", r.version, r.commit, text)
	return os.WriteFile(r.named("notes.md"), []byte(text), 0o644)
}

// section returns the text below a version's heading. The heading may include a date.
func section(changelog, version string) (string, bool) {
	var found []string
	inside := false
	for line := range strings.Lines(changelog) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			if inside {
				break
			}
			words := strings.Fields(heading)
			inside = len(words) > 0 && strings.TrimPrefix(strings.Trim(words[0], "[]"), "v") == version
			continue
		}
		if inside {
			found = append(found, line)
		}
	}
	return strings.TrimSpace(strings.Join(found, "")), inside
}
