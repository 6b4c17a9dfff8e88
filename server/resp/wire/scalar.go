package wire

import (
	"strconv"
	"strings"
)

// scalar parses the text of a value that fits on one line. The error is a *ProtocolError.
func scalar(kind Kind, text string) (v Value, err error) {
	v, ok := Value{Kind: kind}, true
	switch kind {
	case Simple, Error:
		v.Text = text
	case Null:
		ok = text == ""
	case Integer:
		v.Int, err = strconv.ParseInt(text, 10, 64)
		ok = err == nil
	case Bool:
		ok = text == "t" || text == "f"
		if text == "t" {
			v.Int = 1
		}
	case Double:
		v.Text, ok = text, isDouble(text)
	case BigNumber:
		v.Text, ok = text, isInteger(text)
	default:
		return Value{}, &ProtocolError{"unknown type " + strconv.QuoteRuneToASCII(rune(kind)) + " in reply"}
	}
	if !ok {
		return Value{}, &ProtocolError{"invalid value of type " + strconv.QuoteRuneToASCII(rune(kind)) + " in reply"}
	}
	return v, nil
}

// isDouble reports whether text is a RESP3 double.
func isDouble(text string) bool {
	if text == "inf" || text == "-inf" || text == "nan" {
		return true
	}
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return false // ParseFloat also accepts hexadecimal and "infinity"
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// isInteger reports whether text consists of an optional sign and decimal digits.
func isInteger(text string) bool {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	return digits != "" && len(text)-len(digits) <= 1 && strings.Trim(digits, "0123456789") == ""
}
