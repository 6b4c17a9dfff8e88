package main

import (
	"embed"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/policy/yamlfile"
)

// exampleFiles holds the examples. They are testscript scripts, which a test runs. The command prints them as a
// reader would type them.
//
//go:embed examples/*.txt
var exampleFiles embed.FS

// example is a topic. Its text is for --output json.
type example struct {
	Topic   string `json:"topic"`
	Summary string `json:"summary"`
	Text    string `json:"text,omitempty"`
}

// topics returns the examples, with topic and summary but without text, and the names of their topics.
func topics() (all []example, names []string) {
	files, err := exampleFiles.ReadDir("examples")
	if err != nil {
		panic(err) // the directory is embedded in the binary
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".txt")
		first, _, _ := strings.Cut(exampleText(name), "\n")
		all, names = append(all, example{Topic: name, Summary: strings.TrimPrefix(first, "# ")}), append(names, name)
	}
	return all, names
}

func exampleText(topic string) string {
	text, err := exampleFiles.ReadFile(path.Join("examples", topic+".txt"))
	if err != nil {
		return ""
	}
	return string(text)
}

func newExamples() *cobra.Command {
	var output outputFlag
	c := &cobra.Command{
		Use:   "examples [TOPIC]",
		Short: "Print whole examples: files and commands to paste",
		Long:  "Print an example: its files, and the commands in order with what they print. Without a topic it lists the topics.",
		Args:  atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			all, names := topics()
			if len(args) == 0 {
				return listExamples(c.OutOrStdout(), all, output)
			}
			place := slices.Index(names, args[0])
			if place < 0 {
				return fmt.Errorf("examples: TOPIC %q; accepted: %s%s", args[0], strings.Join(names, ", "), yamlfile.DidYouMean(args[0], names))
			}
			text := exampleText(args[0])
			if output.json() {
				var shown strings.Builder
				printExample(&shown, text)
				all[place].Text = shown.String()
				return writeJSON(c.OutOrStdout(), all[place])
			}
			printExample(c.OutOrStdout(), text)
			return nil
		},
	}
	output.addTo(c.Flags())
	_, c.ValidArgs = topics()
	return c
}

// listExamples prints the topic and summary of each example.
func listExamples(w io.Writer, all []example, output outputFlag) error {
	if output.json() {
		return writeJSON(w, all)
	}
	for _, one := range all {
		fmt.Fprintf(w, "%-10s %s\n", one.Topic, one.Summary)
	}
	return nil
}

// printExample prints a script's files, followed by its commands.
func printExample(w io.Writer, text string) {
	script, files, _ := strings.Cut(text, "\n-- ")
	first, script, _ := strings.Cut(script, "\n")
	fmt.Fprintf(w, "%s\n", first)
	for file := range strings.SplitSeq(files, "\n-- ") {
		if name, content, ok := strings.Cut(file, " --\n"); ok {
			fmt.Fprintf(w, "\n# %s\n%s\n", name, strings.TrimSpace(content))
		}
	}
	fmt.Fprintln(w)
	for line := range strings.SplitSeq(strings.TrimSpace(script), "\n") {
		if shown, ok := exampleLine(line); ok {
			fmt.Fprintln(w, shown)
		}
	}
}

// typed replaces words that only the test needs with the words that a reader would type.
var typed = strings.NewReplacer(
	" --server $RESP", "", " --admin $ADMIN", "", " --target resp://$RESP", "", "--admin 127.0.0.1:0", "--admin 127.0.0.1:6070",
	"$HTTP", "127.0.0.1:8080", "$UPSTREAM", "http://127.0.0.1:9000", "$WORK/", "",
)

// exampleLine returns a line of a script as a reader would type it, or the output that the line expects. ok is false
// for lines that only the test needs.
func exampleLine(line string) (shown string, ok bool) {
	verb, rest, _ := strings.Cut(strings.TrimPrefix(line, "! "), " ")
	rest = typed.Replace(rest)
	switch verb {
	case "#":
		return line, true
	case "exec":
		return "$ " + rest, true
	case "start":
		return "$ headgate serve " + rest, true
	case "gateway":
		return "$ headgate gateway " + rest, true
	case "fetch":
		words := strings.Fields(rest)
		for i, word := range words[2:] {
			name, value, _ := strings.Cut(word, ":")
			words[2+i] = "-H '" + name + ": " + value + "'"
		}
		return "$ curl -i -X " + strings.Join(words, " "), true
	case "stdout":
		pattern := strings.Trim(rest, "'")
		if !strings.HasPrefix(pattern, "^") || !strings.HasSuffix(pattern, "$") {
			return "", false
		}
		return strings.ReplaceAll(strings.ReplaceAll(pattern[1:len(pattern)-1], `\`, ""), ".*", "…"), true
	default:
		return "", line == ""
	}
}
