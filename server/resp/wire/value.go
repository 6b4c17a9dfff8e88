package wire

// Kind is the type of a Value. It is the type byte that RESP3 sends first.
type Kind byte

// The kinds of values. Each comment ends with the fields of Value that the kind uses.
const (
	Simple    Kind = '+' // a line of text (Text)
	Error     Kind = '-' // an error with its code, on a line (Text)
	Integer   Kind = ':' // (Int)
	Bulk      Kind = '$' // any bytes (Text)
	Array     Kind = '*' // (Items)
	Null      Kind = '_' // no value; also for RESP2's null string and null array
	Bool      Kind = '#' // (Int, 1 or 0)
	Double    Kind = ',' // a decimal, inf, -inf or nan (Text)
	BigNumber Kind = '(' // a decimal integer of any size (Text)
	BulkError Kind = '!' // an error of any bytes (Text)
	Verbatim  Kind = '=' // text that begins with its format, as in "txt:hello" (Text)
	Map       Kind = '%' // (Items: key, value, key, value, …)
	Set       Kind = '~' // (Items)
	Push      Kind = '>' // a message that is not a reply to a command (Items)

	attribute Kind = '|' // exists only on the wire: ReadValue moves it to Value.Attrs
)

// Value is one reply. Fields that its kind does not use are zero, and an aggregate without items has nil Items.
// Therefore equal replies are deeply equal.
type Value struct {
	Kind  Kind
	Text  string
	Int   int64
	Items []Value
	Attrs []Value // attributes sent by the server: key, value, …; usually nil
}

// Append appends v in its RESP3 form, which ReadValue parses back to v. A parsed reply is reproduced byte for byte,
// with these exceptions: both nulls of RESP2 become "_", integers lose a plus sign, leading zeros and the sign of
// zero, and empty attributes are dropped.
func (v Value) Append(dst []byte) []byte {
	if len(v.Attrs) > 0 {
		dst = appendHeader(dst, byte(attribute), int64(len(v.Attrs)/2))
		dst = appendAll(dst, v.Attrs)
	}
	switch v.Kind {
	case Integer:
		return AppendInt(dst, v.Int)
	case Null:
		return AppendNull(dst, RESP3)
	case Bool:
		return AppendBool(dst, RESP3, v.Int != 0)
	case Bulk, BulkError, Verbatim:
		dst = appendHeader(dst, byte(v.Kind), int64(len(v.Text)))
		dst = append(dst, v.Text...)
		return append(dst, "\r\n"...)
	case Map:
		return appendAll(appendHeader(dst, byte(v.Kind), int64(len(v.Items)/2)), v.Items)
	case Array, Set, Push:
		return appendAll(appendHeader(dst, byte(v.Kind), int64(len(v.Items))), v.Items)
	default:
		return appendLine(dst, byte(v.Kind), v.Text)
	}
}

func appendAll(dst []byte, values []Value) []byte {
	for _, v := range values {
		dst = v.Append(dst)
	}
	return dst
}
