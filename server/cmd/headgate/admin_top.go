package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/url"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/server/internal/adminapi"
)

// times formats a key's count, followed by its bounds if the count is an estimate.
func times(k *adminapi.TopKey) string {
	if k.Least == k.Most {
		return format.Counted(k.Count, "time")
	}
	return fmt.Sprintf("%s (%d to %d)", format.Counted(k.Count, "time"), k.Least, k.Most)
}

type topFlags struct {
	admin              adminClient
	by, window, policy string
	n                  int
	every              time.Duration
	once               bool
}

func newTop() *cobra.Command {
	var f topFlags
	c := &cobra.Command{
		Use:   "top",
		Short: "Print the keys with the most requests or denials, live in a terminal",
		Long: `Print the keys with the most requests or denials of the last minute or hour, and again
every --every while the output is a terminal; Ctrl-C ends it. Counts are estimates with
bounds: the columns from and to.`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	f.admin.addTo(c)
	flags := c.Flags()
	flags.StringVar(&f.by, "by", "requests", "requests, denials, newly-denied or newly-allowed")
	flags.StringVar(&f.window, "window", "1m", "1m or 1h")
	flags.StringVar(&f.policy, "policy", "", "show only this policy; by default all")
	flags.IntVarP(&f.n, "n", "n", 20, "number of keys, 1 to 1000")
	flags.DurationVar(&f.every, "every", time.Second, "time between two prints on a terminal, 100ms to 1h")
	flags.BoolVar(&f.once, "once", false, "print once, even on a terminal")
	return c
}

func (f *topFlags) run(c *cobra.Command) error {
	for _, flag := range []string{"by", "window"} {
		if word := c.Flags().Lookup(flag).Value.String(); !slices.Contains(flagWords[flag], word) {
			return unknownWord(flag, word)
		}
	}
	if f.every < 100*time.Millisecond || f.every > time.Hour {
		return fmt.Errorf("--every %s: accepted: 100ms to 1h", f.every)
	}
	ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	screen := terminalOf(c.OutOrStdout())
	switch width := terminalWidth(c.OutOrStdout()); {
	case screen == nil || f.admin.output.json():
		return f.print(ctx, c.OutOrStdout(), 0, math.MaxInt)
	case f.once:
		var text strings.Builder
		if err := f.print(ctx, &text, 0, width); err != nil {
			return err
		}
		_, err := io.WriteString(c.OutOrStdout(), cutLines(text.String(), width))
		return err
	}
	ticker := time.NewTicker(f.every)
	defer ticker.Stop()
	for {
		width, height, err := term.GetSize(int(screen.Fd()))
		if err != nil {
			return err
		}
		if width <= 0 || height <= 0 { // happens in some containers
			width, height = maxWidth, 24
		}
		var text strings.Builder
		err = f.print(ctx, &text, height-1, width)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(screen, "\x1b[H\x1b[2J%s", cutLines(text.String(), width))
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// cutLines cuts lines that are wider than the terminal.
func cutLines(text string, width int) string {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if characters := []rune(strings.TrimSuffix(line, "\n")); len(characters) > width {
			line = string(characters[:max(width-1, 0)]) + "…\n"
		}
		lines.WriteString(line)
	}
	return lines.String()
}

// print prints the report in at most height lines. If height is 0, there is no bound. Long keys are shortened to fit
// in width, so that their hash stays on the line.
func (f *topFlags) print(ctx context.Context, w io.Writer, height, width int) error {
	query := url.Values{"by": {f.by}, "window": {f.window}, "policy": {f.policy}, "n": {strconv.Itoa(f.n)}}
	answer, text, err := send(ctx, &f.admin, adminapi.ListTop.With(query), nil)
	if err != nil {
		return err
	}
	if f.admin.output.json() {
		return printIndented(w, text)
	}
	sampled := ""
	if answer.Sampled {
		sampled = ", sampled"
	}
	fmt.Fprintf(w, "%s in %.0f s%s%s\n", answer.By, answer.Span, sampled, onServer(answer.Server))
	if len(answer.Keys) == 0 {
		fmt.Fprintln(w, "none")
		return nil
	}
	keys := answer.Keys
	if height > 0 {
		keys = keys[:min(len(keys), max(height-2, 1))]
	}
	writeTop(w, keys, width)
	return nil
}

// writeTop prints keys with their counts as a table of the given width.
func writeTop(w io.Writer, keys []adminapi.TopKey, width int) {
	var counts strings.Builder
	table := tabwriter.NewWriter(&counts, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "per s\tcount\tfrom\tto\tpolicy\t")
	for i := range keys {
		k := &keys[i]
		fmt.Fprintf(table, "%.1f\t%d\t%d\t%d\t%s\t\n", k.Rate, k.Count, k.Least, k.Most, k.Policy)
	}
	_ = table.Flush() // a strings.Builder has no errors
	for i, line := range strings.Split(strings.TrimSuffix(counts.String(), "\n"), "\n") {
		key := "key"
		if i > 0 {
			key = shownKey(&keys[i-1], width-utf8.RuneCountInString(line))
		}
		fmt.Fprintln(w, line+key)
	}
}

// onServer returns a comma and the name of the server that counted. It returns "" for an older server, which does not
// report its name.
func onServer(s *adminapi.Server) string {
	if s == nil {
		return ""
	}
	return ", " + s.String()
}
