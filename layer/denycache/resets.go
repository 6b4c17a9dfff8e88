package denycache

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/headgate/headgate/engine"
)

// Each process publishes the keys that it resets, and forgets its denials of the keys that others publish. A message can
// be lost: the denials then last until they reach Config.MaxStale. After a gap in the subscription, a process forgets
// all denials.

// resetTopic is the topic of the messages. A message contains keys, each after its length.
const resetTopic = "resets"

// listenAgain is the time from the loss of the subscription to the next attempt.
const listenAgain = time.Second

// start starts listening for resets by other processes, in the background.
func (s *Store) start() { s.listening.Go(s.listen) }

// listen forgets the denials of keys that other processes reset, until the store is closed.
func (s *Store) listen() {
	for {
		_ = s.coordinator.Subscribe(s.life, resetTopic, s.forgetAll, s.forgetKeys)
		select {
		case <-s.life.Done():
			return
		case <-time.After(listenAgain):
		}
	}
}

// publish sends the other processes the keys that a call has reset.
func (s *Store) publish(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	var message []byte
	send := func() {
		_ = s.coordinator.Publish(ctx, resetTopic, string(message)) // a lost message delays the effect in other processes
		message = message[:0]
	}
	for i := range ops {
		if !resets(ops[i]) || results[i].Err != nil {
			continue
		}
		for j := range ops[i].Charges {
			_, key := ops[i].Subject(j)
			if len(message)+binary.MaxVarintLen64+len(key) > engine.MaxMessageBytes {
				send()
			}
			message = append(binary.AppendUvarint(message, uint64(len(key))), key...)
		}
	}
	if len(message) > 0 {
		send()
	}
}

// forgetKeys drops the denials of the keys in a message. If it cannot read the message, it drops all denials.
func (s *Store) forgetKeys(message string) {
	for rest := []byte(message); len(rest) > 0; {
		length, n := binary.Uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n) {
			s.forgetAll()
			return
		}
		end := n + int(length)
		key := string(rest[n:end])
		rest = rest[end:]
		h := s.table.Of(key)
		h.Lock()
		for name := range h.Known {
			if name.key == key {
				delete(h.Known, name)
			}
		}
		h.Version++
		h.Unlock()
	}
}

// forgetAll drops all denials.
func (s *Store) forgetAll() {
	for h := range s.table.All() {
		h.Lock()
		clear(h.Known)
		h.Version++
		h.Unlock()
	}
}
