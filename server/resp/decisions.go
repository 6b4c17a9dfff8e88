package resp

import (
	"github.com/headgate/headgate/server/resp/wire"
	"github.com/headgate/headgate/server/service"
)

// Decision is a command whose reply is made from decisions.
type Decision struct {
	Spec

	// Parse appends the requests that the command makes to dst: mostly one, or one for
	// each key of a command like DEL. The number of words was checked against Arity;
	// words[0] is the name. They may be kept until the requests are decided, not longer.
	// An error becomes the reply, after the code "ERR"; the requests are then dropped.
	Parse func(dst []service.Request, words [][]byte) ([]service.Request, error)

	// Reply appends exactly one reply to dst, made from the answers to the requests that
	// Parse appended, in their order. It must not keep answers.
	Reply func(dst []byte, p wire.Proto, answers []service.Response) []byte
}
