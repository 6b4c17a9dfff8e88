// Package wire reads and writes RESP, the Redis protocol, in versions 2 and 3.
//
// A server uses [Reader], which turns bytes into batches of commands, and the
// Append functions, which write replies onto a byte slice. A client uses
// [AppendCommand] and [ReadValue].
//
// The package trusts no length that it reads: it allocates memory only for bytes that have arrived, and every size has
// an upper bound, defined below. Protocol violations are a [ProtocolError], never a panic.
//
// Reader is slightly stricter than Redis: it rejects negative lengths other than -1, and a bulk string without CRLF
// at its end.
package wire

// Bounds on input from clients. A Reader holds at most MaxCommand bytes of input, and slice headers for
// MaxBatchArgs+MaxArgs words and MaxBatch commands: about 1.3 MiB for the worst client, 16 KiB for an ordinary one.
const (
	// MaxBulk is the maximum length of a command's word, in bytes.
	MaxBulk = 64 << 10

	// MaxArgs is the maximum number of words in one command, including its name.
	MaxArgs = 1024

	// MaxInline is the maximum length of an inline command, in bytes without its LF. Redis has the same bound.
	MaxInline = 64 << 10

	// MaxCommand is the maximum length of an encoded command, in bytes.
	MaxCommand = 1 << 20

	// MaxAnonymousArgs and MaxAnonymousCommand replace MaxArgs and MaxCommand until a client has authenticated. Redis
	// has the same numbers, but its 16 KiB bound each word.
	MaxAnonymousArgs    = 10
	MaxAnonymousCommand = 16 << 10

	// MaxBatch is the maximum number of commands returned by one ReadBatch.
	MaxBatch = 1024

	// MaxBatchArgs ends a batch early once it has this many words, so a batch has fewer than MaxBatchArgs+MaxArgs.
	MaxBatchArgs = 8 << 10

	// minBuffer is the initial size in bytes of the read buffer, which shrinks back to it after a long command. A batch
	// is no longer than the buffer, so this also bounds the number of short commands that one read returns.
	minBuffer = 16 << 10

	// maxHeader is the maximum length of a line with a length, in bytes without its type byte and CRLF. Every valid
	// length is shorter; the extra room distinguishes a wrong number from an endless line.
	maxHeader = 32
)

// Bounds on a reply accepted by ReadValue.
const (
	// MaxDepth is the maximum nesting of arrays, maps, sets, pushes and attributes.
	MaxDepth = 8

	// MaxReplyBytes bounds the text in one reply, nested values included.
	MaxReplyBytes = 16 << 20

	// MaxReplyItems bounds the number of values in one reply, nested ones
	// included.
	MaxReplyItems = 64 << 10

	// MaxReplyLine is the maximum length of a line in a reply, in bytes with its CRLF.
	MaxReplyLine = 64 << 10
)

// Proto is a protocol version: RESP2 or RESP3.
type Proto int

// The protocol versions. A connection starts with RESP2 and HELLO changes it.
const (
	RESP2 Proto = 2
	RESP3 Proto = 3
)
