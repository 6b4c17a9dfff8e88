package wire

import "strconv"

// ProtocolError means that the bytes read are not RESP, or exceed a bound of this package. Later input cannot be
// parsed, so the server sends the error and closes the connection.
type ProtocolError struct {
	// Reason describes the violation, in Redis's wording if Redis has one, such as "invalid bulk length".
	Reason string
}

// Error returns the text that Redis would send: "Protocol error: " followed by the reason, without a code such as
// ERR.
func (e *ProtocolError) Error() string { return "Protocol error: " + e.Reason }

// Fixed reasons are created in advance, so that a flood of bad input causes no allocations.
var (
	errBulkLength      = &ProtocolError{"invalid bulk length"}
	errBulkHeader      = &ProtocolError{"too big bulk count string"}
	errBulkEnd         = &ProtocolError{"expected CRLF after bulk string"}
	errMultibulkLength = &ProtocolError{"invalid multibulk length"}
	errMultibulkHeader = &ProtocolError{"too big mbulk count string"}
	errTooBigCommand   = &ProtocolError{"too big request"}
	errTooBigInline    = &ProtocolError{"too big inline request"}
	errTooManyWords    = &ProtocolError{"too many arguments in inline request"}
	errQuotes          = &ProtocolError{"quotes in inline request; accepted: words without quotes, or an array"}
	errLoneCR          = &ProtocolError{"CR without LF in inline request"}
	errAnonymousArgs   = &ProtocolError{"unauthenticated multibulk length"}
	errAnonymousBulk   = &ProtocolError{"unauthenticated bulk length"}
)

// errNotBulk returns the error for a command's word that starts with got instead of '$', for example an array inside
// an array.
func errNotBulk(got byte) error {
	return &ProtocolError{"expected '$', got " + strconv.QuoteRuneToASCII(rune(got))}
}
