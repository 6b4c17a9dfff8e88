package resp

import "strings"

// maxShown is how many bytes of a client's words an error repeats.
const maxShown = 128

// find returns the command that words call, or nil and the error reply.
func (t table) find(words [][]byte) (_ *command, refusal string) {
	cmd := t.lookup(words[0])
	if cmd == nil {
		return nil, unknownCommand(words)
	}
	if cmd.subs != nil && len(words) > 1 {
		sub := cmd.subs.lookup(words[1])
		if sub == nil {
			return nil, "ERR unknown subcommand '" + printable(words[1], maxShown) + "'. Try " + strings.ToUpper(cmd.Name) + " HELP."
		}
		cmd = sub
	}
	if !cmd.takes(len(words)) {
		return nil, wrongArity(cmd)
	}
	return cmd, ""
}

func wrongArity(cmd *command) string {
	return "ERR wrong number of arguments for '" + cmd.Name + "' command"
}

// unknownCommand repeats the name and the first words after it, in Redis's
// form.
func unknownCommand(words [][]byte) string {
	var args strings.Builder
	for _, word := range words[1:] {
		if args.Len() >= maxShown {
			break
		}
		args.WriteString("'" + printable(word, maxShown-args.Len()) + "' ")
	}
	return "ERR unknown command '" + printable(words[0], maxShown) + "', with args beginning with: " + args.String()
}

// printable returns the first max bytes of word, with '?' for each byte that
// is not printable ASCII.
func printable(word []byte, max int) string {
	shown := []byte(string(word[:min(len(word), max)]))
	for i, c := range shown {
		if c < ' ' || c > '~' {
			shown[i] = '?'
		}
	}
	return string(shown)
}
