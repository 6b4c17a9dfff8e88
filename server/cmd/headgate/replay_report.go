package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/server/internal/replay/accesslog"
	"github.com/headgate/headgate/server/internal/replay/report"
	"github.com/headgate/headgate/server/internal/replay/simulate"
	"github.com/headgate/headgate/server/internal/replay/suggest"
)

// found is the result of a replay in the form for --output json.
type found struct {
	Log        *report.Log          `json:"log"`
	Suggest    *suggest.Result      `json:"suggest,omitempty"`
	Result     *simulate.Result     `json:"result,omitempty"`
	Comparison *simulate.Comparison `json:"comparison,omitempty"`
}

// show prints the result, and writes the report if requested.
func (f *replayFlags) show(c *cobra.Command, log *accesslog.Log, p *report.Page) error {
	p.Log = &report.Log{Formats: log.Formats(), Stats: log.Stats()}
	for _, path := range f.reports {
		if err := writeReport(path, p); err != nil {
			return err
		}
	}
	out := c.OutOrStdout()
	if f.output.json() {
		return writeJSON(out, found{Log: p.Log, Suggest: p.Suggest, Result: p.Result, Comparison: p.Comparison})
	}
	var text strings.Builder
	report.LogText(&text, p.Log)
	switch {
	case p.Suggest != nil:
		report.SuggestionText(&text, p.Suggest)
	case p.Result != nil:
		report.ResultText(&text, p.Result)
	default:
		report.ComparisonText(&text, p.Comparison)
	}
	shown := text.String()
	if terminalOf(out) != nil {
		shown = fold(shown, terminalWidth(out), report.TextColumn)
	}
	_, err := io.WriteString(out, shown)
	return err
}

// checkReports rejects files of other formats before the log is read.
func checkReports(paths []string) error {
	for _, path := range paths {
		if filepath.Ext(path) != ".html" {
			return fmt.Errorf("--report %q: accepted: a file that ends with .html", path)
		}
	}
	return nil
}

// writeReport writes a report as HTML.
func writeReport(path string, p *report.Page) error {
	var b bytes.Buffer
	if err := report.HTML(&b, p); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	return writeFile(path, b.Bytes())
}

// writeFile writes a file that other users may read. It contains data from a log, but no secrets of this program.
func writeFile(path string, data []byte) error {
	return os.WriteFile(path, data, 0o644) //nolint:gosec // see above
}
