package grpcapi

import (
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	protobuf "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// bounded is a message with a maximum encoded length.
type bounded struct {
	message any
	most    int
	err     error // set if the message is too long
}

// codec is the protocol buffers codec, with support for bounded messages, and for strings that are not UTF-8.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// Unmarshal implements [encoding.CodecV2].
func (c codec) Unmarshal(data mem.BufferSlice, to any) error {
	in, ok := to.(*bounded)
	if !ok {
		return c.CodecV2.Unmarshal(data, to)
	}
	if n := data.Len(); n > in.most {
		in.err = status.Errorf(codes.ResourceExhausted, "the message has %d bytes; accepted: up to %d without a secret", n, in.most)
		return nil // gRPC would turn an error into codes.Internal
	}
	err := c.CodecV2.Unmarshal(data, in.message)
	if message, ok := in.message.(protobuf.Message); ok && err != nil {
		return withText(data.Materialize(), message, err)
	}
	return err
}

// withText decodes a message that could not be decoded, with question marks in place of the bytes of its strings that are
// not UTF-8. Envoy sends clients' headers as they are, so an error would let a client choose that no decision is made, and
// Envoy would pass its request (regression: bug 234). For other errors it returns err.
func withText(data []byte, to protobuf.Message, err error) error {
	if !replaceBytes(to.ProtoReflect().Descriptor(), data, maxLevels) {
		return err
	}
	return protobuf.Unmarshal(data, to)
}

// maxLevels bounds the levels of a message in which bytes are replaced. Requests have up to 8.
const maxLevels = 20

// replaceBytes replaces the bytes of strings that are not UTF-8 in an encoded message. ok is false for a malformed one.
func replaceBytes(d protoreflect.MessageDescriptor, data []byte, levels int) (ok bool) {
	for len(data) > 0 {
		number, kind, tag := protowire.ConsumeTag(data)
		if tag < 0 || levels == 0 {
			return false
		}
		size := protowire.ConsumeFieldValue(number, kind, data[tag:])
		if size < 0 {
			return false
		}
		value := data[tag : tag+size]
		data = data[tag+size:]
		field := d.Fields().ByNumber(number)
		if field == nil || kind != protowire.BytesType {
			continue
		}
		switch content, _ := protowire.ConsumeBytes(value); field.Kind() {
		case protoreflect.StringKind:
			replaceText(content)
		case protoreflect.MessageKind:
			if !replaceBytes(field.Message(), content, levels-1) {
				return false
			}
		}
	}
	return true
}

func replaceText(text []byte) {
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		if c == utf8.RuneError && size == 1 {
			text[0] = '?'
		}
		text = text[size:]
	}
}
