package gateway

import "encoding/binary"

// frames tracks the messages in the body of a gRPC call. Each message is a head of five bytes, a flag and the length of
// the content in big-endian order, followed by the content. A stream may be silent for any time between messages, but
// not within one.
type frames struct {
	head [5]byte
	have int   // bytes of the head that have been read
	left int64 // bytes of the content that have not been read
}

// between reports whether the body is between two messages.
func (f *frames) between() bool { return f.have == 0 && f.left == 0 }

// follow processes the next bytes of the body, and reports whether a message ends in them.
func (f *frames) follow(p []byte) (ended bool) {
	for len(p) > 0 {
		if f.left > 0 {
			n := min(f.left, int64(len(p)))
			f.left, p = f.left-n, p[n:]
		} else {
			n := copy(f.head[f.have:], p)
			if f.have, p = f.have+n, p[n:]; f.have < len(f.head) {
				return ended
			}
			f.have, f.left = 0, int64(binary.BigEndian.Uint32(f.head[1:]))
		}
		ended = ended || f.left == 0
	}
	return ended
}
