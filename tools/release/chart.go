package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// chart writes the Helm chart with the release's version. Its file name is the one that Helm and registries require.
func (r *release) chart() error {
	folder := filepath.Join(r.root, "deploy", "chart")
	files, err := filesIn(folder)
	if err != nil {
		return err
	}
	for i, f := range files {
		if f.name == "Chart.yaml" {
			if files[i].path, err = r.versioned(f.path); err != nil {
				return err
			}
		}
		files[i].name = "headgate/" + f.name
	}
	return writeTarGz(filepath.Join(r.out, "headgate-"+r.version+".tgz"), files, r.time)
}

// versioned returns the path of a copy of Chart.yaml with the release's version.
func (r *release) versioned(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	const none = "ersion: 0.0.0\n" // version and appVersion
	if strings.Count(string(data), none) != 2 {
		return "", fmt.Errorf("%s: accepted: version and appVersion 0.0.0", path)
	}
	copied := filepath.Join(r.work, "Chart.yaml")
	return copied, os.WriteFile(copied, []byte(strings.ReplaceAll(string(data), none, "ersion: "+r.version+"\n")), 0o644)
}
