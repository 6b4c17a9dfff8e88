package grpcapi

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// bounded is a message with a maximum encoded length.
type bounded struct {
	message any
	most    int
	err     error // set if the message is too long
}

// codec is the protocol buffers codec, with support for bounded messages.
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
	return c.CodecV2.Unmarshal(data, in.message)
}
