package resp

import (
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/resp/wire"
)

// DecisionCommand is a command that makes decisions.
type DecisionCommand struct {
	Spec

	// Parse appends the command's requests to dst: usually one, or one for each key of a command like DEL. words[0]
	// is the name, and the number of words has been checked against Arity. The words are valid until the requests
	// have been decided. If Parse returns an error, it becomes the reply, after the code "ERR", and the requests that
	// Parse has appended are dropped.
	Parse func(dst []decide.Request, words [][]byte) ([]decide.Request, error)

	// Reply appends exactly one reply to dst. The slice answers contains the answers to the requests that Parse
	// appended, in order. Reply must not retain them.
	Reply func(dst []byte, p wire.Proto, answers []decide.Response) []byte
}
