package respapi

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxScript is the maximum length of a script, in bytes. A longer one is more than a call of CL.THROTTLE.
const maxScript = 4 << 10

// script is a Lua script that consists of one call: return redis.call('CL.THROTTLE', …). The words are the arguments of
// the call.
type script struct {
	words []scriptWord
	rest  bool // unpack(ARGV) follows the words
}

// scriptWord is an argument of the call: a constant, or an element of KEYS or ARGV.
type scriptWord struct {
	constant string
	of       string // KEYS or ARGV; "" for a constant
	index    int    // from 1
}

// errScript is the error for all other scripts.
const errScript = "this server runs no Lua; accepted: a script that is only \"return redis.call('CL.THROTTLE', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4])\", " +
	"with numbers in place of ARGV or unpack(ARGV) at the end; or the command without a script: CL.THROTTLE key max_burst count period [quantity]; "

// parseScript reads a script. It knows the form of the one call that clients wrap in a script because they have no method
// for CL.THROTTLE. It is no interpreter: any other script is an error, which names the first text that does not belong to
// the call.
func parseScript(text []byte) (*script, error) {
	if len(text) > maxScript {
		return nil, fmt.Errorf("%sthe script has %d bytes", errScript, len(text))
	}
	p := scriptParser{rest: text}
	s, ok := p.call()
	if !ok {
		return nil, errors.New(errScript + p.found())
	}
	return s, nil
}

type scriptParser struct{ rest []byte }

// luaSpace is Lua's white space.
const luaSpace = " \t\n\v\f\r"

func (p *scriptParser) space() { p.rest = bytes.TrimLeft(p.rest, luaSpace) }

// token skips white space and then the text. It returns false if something else follows.
func (p *scriptParser) token(text string) bool {
	p.space()
	rest, ok := bytes.CutPrefix(p.rest, []byte(text))
	if ok {
		p.rest = rest
	}
	return ok
}

// found describes the text at which the parser stopped.
func (p *scriptParser) found() string {
	p.space()
	if len(p.rest) == 0 {
		return "the script ends too early"
	}
	return "the script has " + strconv.Quote(string(p.rest[:min(len(p.rest), 32)]))
}

func (p *scriptParser) call() (*script, bool) {
	if !p.token("return") || len(p.rest) == 0 || !strings.ContainsRune(luaSpace, rune(p.rest[0])) {
		return nil, false
	}
	if !p.token("redis") || !p.token(".") || !p.token("call") && !p.token("pcall") || !p.token("(") {
		return nil, false
	}
	before := p.rest
	if name, ok := p.quoted(); !ok || !strings.EqualFold(name, "cl.throttle") {
		p.rest = before
		return nil, false
	}
	s := new(script)
	for p.token(",") {
		if s.rest = p.token("unpack"); s.rest {
			if !p.token("(") || !p.token("ARGV") || !p.token(")") {
				return nil, false
			}
			break // Lua passes only the first value if something follows
		}
		word, ok := p.word()
		if !ok {
			return nil, false
		}
		s.words = append(s.words, word)
	}
	if !p.token(")") {
		return nil, false
	}
	p.token(";")
	p.space()
	return s, len(p.rest) == 0
}

func (p *scriptParser) word() (w scriptWord, ok bool) {
	for _, of := range []string{"KEYS", "ARGV"} {
		if !p.token(of) {
			continue
		}
		if !p.token("[") {
			return w, false
		}
		digits, ok := p.digits()
		w.of = of
		w.index, _ = strconv.Atoi(digits)
		return w, ok && len(digits) <= 4 && p.token("]")
	}
	if w.constant, ok = p.quoted(); ok {
		return w, true
	}
	w.constant, ok = p.digits()
	return w, ok
}

// quoted reads a string without escapes.
func (p *scriptParser) quoted() (text string, ok bool) {
	p.space()
	if len(p.rest) == 0 || p.rest[0] != '\'' && p.rest[0] != '"' {
		return "", false
	}
	inside, rest, ok := bytes.Cut(p.rest[1:], p.rest[:1])
	if !ok || bytes.ContainsAny(inside, "\\\n\r") {
		return "", false
	}
	p.rest = rest
	return string(inside), true
}

func (p *scriptParser) digits() (text string, ok bool) {
	p.space()
	n := 0
	for n < len(p.rest) && p.rest[n] >= '0' && p.rest[n] <= '9' {
		n++
	}
	text, p.rest = string(p.rest[:n]), p.rest[n:]
	return text, n > 0 && (len(p.rest) == 0 || !isIdentifier(p.rest[0]) && p.rest[0] != '.')
}

// isIdentifier reports whether c continues a number or a name: 0x10, 1e3.
func isIdentifier(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// expand appends the words of the call to words.
func (s *script) expand(words, keys, args [][]byte) ([][]byte, error) {
	for _, w := range s.words {
		from := args
		switch w.of {
		case "":
			words = append(words, []byte(w.constant))
			continue
		case "KEYS":
			from = keys
		}
		if w.index < 1 || w.index > len(from) {
			return nil, fmt.Errorf("the script has %s[%d], and the command has %d", w.of, w.index, len(from))
		}
		words = append(words, from[w.index-1])
	}
	if s.rest {
		words = append(words, args...)
	}
	return words, nil
}
