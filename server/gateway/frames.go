package gateway

import "encoding/binary"

// frames follows the messages in the body of a gRPC call: each is a byte, four bytes with its length, and its bytes. A
// stream may be silent between two messages for any time, but not within a message.
type frames struct {
	head [5]byte
	have int   // bytes read of the head
	left int64 // bytes missing of the message after the head
}

// between reports whether no message has begun.
func (f *frames) between() bool { return f.have == 0 && f.left == 0 }

// follow follows the next bytes of the body, and reports whether a message ends with or in them.
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
