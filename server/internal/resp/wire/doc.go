// Package wire reads and writes RESP, the Redis protocol, in versions 2 and 3.
//
// A server uses [Reader], which turns bytes into batches of commands, and the Append functions, which append replies
// to a byte slice.
//
// The package trusts no length that it reads: it allocates memory only for bytes that have arrived, and every size
// has an upper bound, defined below. A protocol violation causes a [ProtocolError], never a panic.
//
// Reader is slightly stricter than Redis: it rejects negative lengths other than -1, and a bulk string without CRLF
// at its end.
package wire

// Bounds of input from clients. A Reader holds at most MaxCommand bytes of input, and slice headers for
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
	// uses the same numbers, but its 16 KiB bound applies to each word.
	MaxAnonymousArgs    = 10
	MaxAnonymousCommand = 16 << 10

	// MaxBatch is the maximum number of commands returned by one ReadBatch.
	MaxBatch = 1024

	// MaxBatchArgs is the number of words that ends a batch early. A batch therefore contains fewer than
	// MaxBatchArgs+MaxArgs words.
	MaxBatchArgs = 8 << 10

	// minBuffer is the initial size in bytes of the read buffer, which shrinks to this size again after a long
	// command. A batch is no longer than the buffer, so minBuffer also bounds the number of short commands that one
	// read returns.
	minBuffer = 16 << 10

	// maxHeader is the maximum length of a line that contains a length, in bytes without its type byte and CRLF.
	// Every valid length is shorter. The extra room distinguishes a wrong number from an endless line.
	maxHeader = 32
)

// Proto is a protocol version: RESP2 or RESP3.
type Proto int

// The protocol versions. A connection starts with RESP2, and HELLO changes the version.
const (
	RESP2 Proto = 2
	RESP3 Proto = 3
)
