package grpcapi

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// bounded is a message that is decoded only if it is not longer than it may be.
type bounded struct {
	message any
	most    int
	err     error // of a longer message, once it has come
}

// codec is that of protocol buffers, for bounded messages too.
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
		return nil // gRPC would make codes.Internal of an error
	}
	return c.CodecV2.Unmarshal(data, in.message)
}
