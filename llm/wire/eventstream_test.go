package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm/wire"
)

var messages = []frame{
	{Event: "messageStart", Data: `{"role":"assistant"}`},
	{Event: "contentBlockDelta", Data: `{"contentBlockIndex":0,"delta":{"text":"漢字 🦊"},"p":"abcdef"}`},
	{Event: "metadata"},
	{Event: "throttlingException", Data: `{"message":"Too many requests"}`, Exception: true},
	{Event: "large", Data: strings.Repeat("x", 100_000)},
}

func binaryStream(list []frame) []byte {
	var out []byte
	for _, m := range list {
		out = wire.AppendEventStream(out, m.Event, m.Exception, []byte(m.Data))
	}
	return out
}

func TestEventStream(t *testing.T) {
	in := binaryStream(messages)
	for how, r := range map[string]io.Reader{
		"whole":                  bytes.NewReader(in),
		"byte by byte":           iotest.OneByteReader(bytes.NewReader(in)),
		"in half":                iotest.HalfReader(bytes.NewReader(in)),
		"end with the last byte": iotest.DataErrReader(bytes.NewReader(in)),
	} {
		got, err := frames(wire.NewEventStream(r))
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		if diff := cmp.Diff(messages, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", how, diff)
		}
	}
}

// TestPublishedMessages reads messages of the test suite that AWS publishes for
// the format: an empty one, one with a payload only, one with a header.
func TestPublishedMessages(t *testing.T) {
	for _, tt := range []struct{ name, hex, data string }{
		{"empty_message", "000000100000000005c248eb7d98c8ff", ""},
		{"payload_no_headers", "0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936", "{'foo':'bar'}"},
		{"payload_one_str_header", "0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1", "{'foo':'bar'}"},
	} {
		in, err := hex.DecodeString(tt.hex)
		if err != nil {
			t.Fatal(err)
		}
		got, err := frames(wire.NewEventStream(bytes.NewReader(in)))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff([]frame{{Data: tt.data}}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// message builds a message from raw headers.
func message(headers, payload []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(16+len(headers)+len(payload)))
	out = binary.BigEndian.AppendUint32(out, uint32(len(headers)))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	out = append(append(out, headers...), payload...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

func header(name string, kind byte, value ...byte) []byte {
	return append(append([]byte{byte(len(name))}, name...), append([]byte{kind}, value...)...)
}

func text(s string) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(s))), s...)
}

// TestHeaders skips headers of every type and finds the ones that matter among
// them.
func TestHeaders(t *testing.T) {
	eight := make([]byte, 8)
	h := bytes.Join([][]byte{
		header("yes", 0), header("no", 1), header("byte", 2, 7), header("short", 3, 1, 2), header("int", 4, 1, 2, 3, 4),
		header("long", 5, eight...), header("bytes", 6, text(":event-type")...), header("time", 8, eight...),
		header("uuid", 9, append(eight, eight...)...), header(":event-type", 7, text("found")...), header("", 7, text("")...),
	}, nil)
	got, err := frames(wire.NewEventStream(bytes.NewReader(message(h, []byte("body")))))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]frame{{Event: "found", Data: "body"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	h = append(header(":message-type", 7, text("error")...), header(":error-code", 7, text("InternalError")...)...)
	if got, err = frames(wire.NewEventStream(bytes.NewReader(message(h, nil)))); err != nil || len(got) != 1 || got[0] != (frame{Event: "InternalError", Exception: true}) {
		t.Errorf("an error without a model arrived as %+v, %v", got, err)
	}
}

func TestBrokenHeaders(t *testing.T) {
	for name, h := range map[string][]byte{
		"name too long":    {200, 'x'},
		"no type":          {1, 'x'},
		"unknown type":     header("x", 10),
		"no length":        header("x", 7, 0),
		"value too long":   header("x", 7, 0, 9, 'a'),
		"number too short": header("x", 5, 1, 2, 3),
	} {
		if f, err := wire.NewEventStream(bytes.NewReader(message(h, nil))).Next(); err == nil {
			t.Errorf("%s: read as %+v", name, f)
		}
	}
}

func TestImpossibleLengths(t *testing.T) {
	prelude := func(total, headers uint32) []byte {
		out := binary.BigEndian.AppendUint32(nil, total)
		out = binary.BigEndian.AppendUint32(out, headers)
		return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	}
	for _, in := range [][]byte{prelude(0, 0), prelude(15, 0), prelude(20, 5), prelude(100, 1<<31)} {
		if _, err := wire.NewEventStream(bytes.NewReader(append(in, make([]byte, 100)...))).Next(); err == nil {
			t.Errorf("accepted a head of %x", in)
		}
	}
	if _, err := wire.NewEventStream(bytes.NewReader(prelude(wire.MaxFrame+1, 0))).Next(); !errors.Is(err, wire.ErrFrameTooLarge) {
		t.Errorf("a message too large: %v", err)
	}
}

// TestDamagedMessage cuts a message at every byte and flips every bit of it.
func TestDamagedMessage(t *testing.T) {
	whole := wire.AppendEventStream(nil, "contentBlockDelta", false, []byte(`{"delta":{"text":"hi"}}`))
	for i := 1; i < len(whole); i++ {
		if _, err := wire.NewEventStream(bytes.NewReader(whole[:i])).Next(); err != io.ErrUnexpectedEOF {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	for i := range len(whole) * 8 {
		flipped := bytes.Clone(whole)
		flipped[i/8] ^= 1 << (i % 8)
		if f, err := wire.NewEventStream(bytes.NewReader(flipped)).Next(); err == nil || err == io.EOF {
			t.Errorf("bit %d flipped: read as %q, %v", i, f.Data, err)
		}
	}
	if _, err := frames(wire.NewEventStream(bytes.NewReader(append(bytes.Clone(whole), "trailing text"...)))); err == nil {
		t.Error("text behind a message passed")
	}
}

func FuzzEventStream(f *testing.F) {
	whole := binaryStream(messages[:4])
	f.Add(whole, "event", false, uint16(3), byte(1))
	f.Add(message(header("x", 9, make([]byte, 16)...), []byte("body")), "", true, uint16(0), byte(0))
	f.Add([]byte("not an event stream at all"), "e", false, uint16(9), byte(255))
	f.Fuzz(func(t *testing.T, in []byte, event string, exception bool, at uint16, flip byte) {
		_, _ = frames(wire.NewEventStream(bytes.NewReader(in))) // never panics, always ends

		event = event[:min(len(event), 1000)]
		sent := frame{event, string(in), exception}
		msg := wire.AppendEventStream(nil, event, exception, in)
		got, err := frames(wire.NewEventStream(iotest.HalfReader(bytes.NewReader(msg))))
		if err != nil || len(got) != 1 || got[0] != sent {
			t.Fatalf("round trip: %+v became %+v, %v", sent, got, err)
		}
		i := int(at) % len(msg)
		if got, err := frames(wire.NewEventStream(bytes.NewReader(msg[:i]))); i > 0 && err == nil || len(got) > 0 {
			t.Fatalf("cut at %d: %+v, %v", i, got, err)
		}
		if flip != 0 {
			msg[i] ^= flip
			if got, err := frames(wire.NewEventStream(bytes.NewReader(msg))); err == nil || len(got) > 0 {
				t.Fatalf("byte %d changed: %+v, %v", i, got, err)
			}
		}
	})
}

func BenchmarkEventStream(b *testing.B) {
	const events = 1000
	var in []byte
	for i := range events {
		in = wire.AppendEventStream(in, "contentBlockDelta", false, fmt.Appendf(nil, `{"contentBlockIndex":0,"delta":{"text":"word %d"},"p":"abcdefghijkl"}`, i))
	}
	benchmarkFrames(b, in, events, func(r io.Reader) wire.FrameReader { return wire.NewEventStream(r) })
}
