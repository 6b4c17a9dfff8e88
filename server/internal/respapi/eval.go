package respapi

import (
	"crypto/sha1" //nolint:gosec // the name that EVALSHA gives a script
	"encoding/hex"
	"errors"
	"strings"
	"sync"

	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/wire"
)

// maxScripts is the maximum number of scripts that EVALSHA can name. A further script replaces another one, whose
// clients get NOSCRIPT and send it again.
const maxScripts = 1000

// scripts holds the scripts that clients of any connection have sent, by their SHA-1.
type scripts struct {
	mu    sync.RWMutex
	bySum map[[sha1.Size]byte]*script
}

// load parses a script and keeps it.
func (s *scripts) load(text []byte) (*script, [sha1.Size]byte, error) {
	sum := sha1.Sum(text) //nolint:gosec // see above
	if known := s.find(sum); known != nil {
		return known, sum, nil
	}
	parsed, err := parseScript(text)
	if err != nil {
		return nil, sum, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.bySum) >= maxScripts {
		for other := range s.bySum {
			delete(s.bySum, other)
			break
		}
	}
	s.bySum[sum] = parsed
	return parsed, sum, nil
}

func (s *scripts) find(sum [sha1.Size]byte) *script {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bySum[sum]
}

// named returns the script with a SHA-1 in hexadecimal, or nil.
func (s *scripts) named(word []byte) *script {
	var sum [sha1.Size]byte
	if len(word) != hex.EncodedLen(len(sum)) {
		return nil
	}
	if _, err := hex.Decode(sum[:], word); err != nil {
		return nil
	}
	return s.find(sum)
}

// errNoScript is Redis's error, upon which clients send the script itself.
const errNoScript = resp.Error("NOSCRIPT No matching script. Please use EVAL.")

// scriptCommands returns EVAL, EVALSHA and SCRIPT, for scripts that consist of a call of CL.THROTTLE.
func scriptCommands() []resp.DecisionCommand {
	all := &scripts{bySum: map[[sha1.Size]byte]*script{}}
	call := throttle()
	command := func(name, syntax, summary string, find func(word []byte) (*script, error)) resp.DecisionCommand {
		return resp.DecisionCommand{
			Spec:  resp.Spec{Name: name, Arity: -3, Flags: []string{"noscript", "movablekeys"}, Syntax: syntax + " numkeys key [arg ...]", Group: "scripting", Summary: summary},
			Reply: call.Reply,
			Parse: func(dst []decide.Request, words [][]byte) ([]decide.Request, error) {
				keys, err := parseInt("numkeys", words[2], 0, int64(len(words)-3))
				if err != nil {
					return dst, err
				}
				s, err := find(words[1])
				if err != nil {
					return dst, err
				}
				var memory [6][]byte
				called, err := s.expand(append(memory[:0], []byte(call.Name)), words[3:3+keys], words[3+keys:])
				if err == nil && len(called) < -call.Arity {
					err = errArity(call.Name)
				}
				if err != nil {
					return dst, err
				}
				return call.Parse(dst, called)
			},
		}
	}
	return []resp.DecisionCommand{
		command("eval", "script", "Runs a script that consists of a call of CL.THROTTLE.", func(text []byte) (*script, error) {
			s, _, err := all.load(text)
			return s, err
		}),
		command("evalsha", "sha1", "Runs such a script by its SHA-1.", func(sum []byte) (*script, error) {
			if s := all.named(sum); s != nil {
				return s, nil
			}
			return nil, errNoScript
		}),
		{
			Spec: resp.Spec{
				Name: "script", Arity: -2, Flags: []string{"noscript"}, Syntax: "LOAD script | EXISTS sha1 [sha1 ...] | FLUSH [ASYNC | SYNC]", Group: "scripting",
				Summary: "Keeps such scripts for EVALSHA.",
			},
			Plain: all.command,
		},
	}
}

// command replies to SCRIPT.
func (s *scripts) command(dst []byte, words [][]byte) []byte {
	switch sub := strings.ToLower(string(words[1])); {
	case sub == "load" && len(words) == 3:
		_, sum, err := s.load(words[2])
		if err != nil {
			return appendError(dst, err)
		}
		return wire.AppendBulk(dst, []byte(hex.EncodeToString(sum[:])))
	case sub == "exists" && len(words) > 2:
		dst = wire.AppendArray(dst, len(words)-2)
		for _, sum := range words[2:] {
			known := int64(0)
			if s.named(sum) != nil {
				known = 1
			}
			dst = wire.AppendInt(dst, known)
		}
		return dst
	case sub == "flush" && len(words) <= 3:
		s.mu.Lock()
		defer s.mu.Unlock()
		clear(s.bySum)
		return wire.AppendSimple(dst, "OK")
	default:
		return appendError(dst, errors.New("SCRIPT accepts LOAD script, EXISTS sha1 [sha1 ...] and FLUSH"))
	}
}
