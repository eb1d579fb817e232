package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/wire"
)

// frame is a copy of a frame, whose bytes the reader uses again.
type frame struct {
	Event, Data string
	Exception   bool
}

// frames reads all frames and the error that ends them; nil stands for io.EOF.
func frames(r wire.FrameReader) ([]frame, error) {
	var out []frame
	for {
		f, err := r.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, frame{string(f.Event), string(f.Data), f.Exception})
	}
}

const bom = "\xEF\xBB\xBF"

var sseCases = []struct {
	name, in string
	want     []frame
}{
	{"plain", "data: hello\n\n", []frame{{Data: "hello"}}},
	{"named", "event: delta\ndata: {\"a\":1}\n\nevent: stop\ndata: {}\n\n", []frame{{Event: "delta", Data: `{"a":1}`}, {Event: "stop", Data: "{}"}}},
	{"name is not kept", "event: a\ndata: 1\n\ndata: 2\n\n", []frame{{Event: "a", Data: "1"}, {Data: "2"}}},
	{"name without data", "event: a\n\ndata: 2\n\n", []frame{{Data: "2"}}},
	{"last name wins", "event: a\nevent: b\ndata: 1\n\n", []frame{{Event: "b", Data: "1"}}},
	{"name after data", "data: 1\nevent: a\n\n", []frame{{Event: "a", Data: "1"}}},
	{"no space", "event:x\ndata:hello\n\n", []frame{{Event: "x", Data: "hello"}}},
	{"two spaces", "data:  hello \n\n", []frame{{Data: " hello "}}},
	{"colons", "data: a: b::c\n\n", []frame{{Data: "a: b::c"}}},
	{"several lines", "data: one\ndata:\ndata: three\n\n", []frame{{Data: "one\n\nthree"}}},
	{"empty data", "data\n\ndata:\n\n", []frame{{}, {}}},
	{"comments", ": ping\n\n:\ndata: 1\n: between\ndata: 2\n\n:bye\n", []frame{{Data: "1\n2"}}},
	{"other fields", "id: 7\nretry: 100\ndata: 1\nunknown: x\n\n", []frame{{Data: "1"}}},
	{"prefix of a field", "dat: 1\ndatax: 2\n data: 3\ndata: 4\n\n", []frame{{Data: "4"}}},
	{"CRLF", "event: a\r\ndata: 1\r\ndata: 2\r\n\r\ndata: 3\r\n\r\n", []frame{{Event: "a", Data: "1\n2"}, {Data: "3"}}},
	{"CR", "event: a\rdata: 1\rdata: 2\r\rdata: 3\r\r", []frame{{Event: "a", Data: "1\n2"}, {Data: "3"}}},
	{"mixed ends", "data: 1\r\ndata: 2\rdata: 3\n\r\ndata: 4\r\n\rdata: 5\n\r", []frame{{Data: "1\n2\n3"}, {Data: "4"}, {Data: "5"}}},
	{"blank lines", "\n\r\n\r\r\ndata: 1\n\n\n\n", []frame{{Data: "1"}}},
	{"mark", bom + "data: 1\n\n", []frame{{Data: "1"}}},
	{"mark twice", bom + bom + "data: 1\n\ndata: 2\n\n", []frame{{Data: "2"}}},
	{"mark alone", bom, nil},
	{"mark inside", "data: " + bom + "1\n\n" + bom + "data: 2\n\n", []frame{{Data: bom + "1"}}},
	{"half a mark", "\xEF\xBBdata: 1\n\ndata: 2\n\n", []frame{{Data: "2"}}},
	{"characters", "data: 漢字 🦊 e\u0301\n\ndata: \u2028\u0085\n\n", []frame{{Data: "漢字 🦊 e\u0301"}, {Data: "\u2028\u0085"}}},
	{"invalid bytes", "data: a\xff\x00\xc3\n\n", []frame{{Data: "a\xff\x00\xc3"}}},
	{"no empty line at the end", "data: 1\n\nevent: x\ndata: 2\n", []frame{{Data: "1"}, {Event: "x", Data: "2"}}},
	{"no end at all", "data: 1\n\ndata: 2", []frame{{Data: "1"}, {Data: "2"}}},
	{"CR at the end", "data: 1\r", []frame{{Data: "1"}}},
	{"nothing", "", nil},
	{"no data", "event: x\n", nil},
	{"field without end", "event: x", nil},
}

// TestSSE reads each case whole, byte by byte, and cut in two at every byte.
func TestSSE(t *testing.T) {
	for _, tt := range sseCases {
		t.Run(tt.name, func(t *testing.T) {
			check := func(how string, r io.Reader) {
				got, err := frames(wire.NewSSE(r))
				if err != nil {
					t.Fatalf("%s: %v", how, err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
			check("whole", strings.NewReader(tt.in))
			check("byte by byte", iotest.OneByteReader(strings.NewReader(tt.in)))
			check("end with the last byte", iotest.DataErrReader(strings.NewReader(tt.in)))
			for i := range len(tt.in) {
				check(fmt.Sprintf("cut at %d", i), io.MultiReader(strings.NewReader(tt.in[:i]), strings.NewReader(tt.in[i:])))
			}
		})
	}
}

// TestSSEAtOnce delivers an event when its empty line is there, without waiting
// for what might follow a CR.
func TestSSEAtOnce(t *testing.T) {
	for _, in := range []string{"data: 1\n\n", "data: 1\r\r", "data: 1\r\n\r"} {
		sse := wire.NewSSE(io.MultiReader(strings.NewReader(in), iotest.ErrReader(errors.New("read on"))))
		if f, err := sse.Next(); err != nil || string(f.Data) != "1" {
			t.Errorf("%q: got %q, %v", in, f.Data, err)
		}
	}
}

func TestSSELongLine(t *testing.T) {
	text := strings.Repeat("0123456789abcdé\t", 10<<20/17)
	got, err := frames(wire.NewSSE(strings.NewReader("data: " + text + "\r\n\r\ndata: after\n\n")))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Data != text || got[1].Data != "after" {
		t.Errorf("%d frames", len(got))
	}
}

// endless is text without end.
type endless struct {
	begin string
	line  string
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.begin)
	e.begin = e.begin[n:]
	for n < len(p) {
		n += copy(p[n:], e.line)
	}
	return n, nil
}

func TestSSETooLarge(t *testing.T) {
	pacetest.Costly(t)
	for name, in := range map[string]*endless{
		"line":  {begin: "data: ", line: strings.Repeat("x", 4096)},
		"lines": {line: "data: " + strings.Repeat("x", 4089) + "\n"},
	} {
		if _, err := wire.NewSSE(in).Next(); !errors.Is(err, wire.ErrFrameTooLarge) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Of a line that nobody reads, however long, little is held, and the event after it is
// whole.
func TestSSESkips(t *testing.T) {
	for name, begin := range map[string]string{"comment": ": ", "event": "event: ", "unknown field": "idx: ", "no field": "x", "data by half": "dat"} {
		const size = 64 << 20
		long := &endless{begin: begin, line: strings.Repeat("x", 4096)}
		in := io.MultiReader(io.LimitReader(long, size), strings.NewReader("\ndata: 1\ndata: 2\n\n"))
		var got wire.Frame
		var err error
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err = wire.NewSSE(in).Next()
		runtime.ReadMemStats(&after)
		if err != nil || string(got.Data) != "1\n2" {
			t.Errorf("%s: %q, %v", name, got.Data, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%s: %d MB were allocated for %d MB", name, n>>20, size>>20)
		}
	}
}

// A long line of data becomes the frame, and its buffer serves the next event.
func TestSSELongData(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	in := "data: " + long + "\ndata:" + long + "\n\ndata: 3\n\nevent: e\ndata:" + long + "\n\ndata\ndata: " + long
	got, err := frames(wire.NewSSE(iotest.OneByteReader(strings.NewReader(in))))
	want := []string{long + "\n" + long, "3", long, "\n" + long}
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d frames, %v", len(got), err)
	}
	for i, w := range want {
		if !strings.HasSuffix(got[i].Data, w) {
			t.Errorf("frame %d has %d bytes: %.40q", i, len(got[i].Data), got[i].Data)
		}
	}
}

// TestSSEBroken passes on the error of a connection that fails, also when data
// had arrived: only a regular end completes an event.
func TestSSEBroken(t *testing.T) {
	for _, in := range []string{"", "data: 1", "data: 1\n", "data: 1\n\ndata: 2\n"} {
		_, err := frames(wire.NewSSE(io.MultiReader(strings.NewReader(in), iotest.ErrReader(io.ErrUnexpectedEOF))))
		if err != io.ErrUnexpectedEOF {
			t.Errorf("%q: got %v", in, err)
		}
	}
}

func TestWriteSSE(t *testing.T) {
	for _, tt := range []frame{{Data: "x"}, {Event: "delta", Data: `{"a":"b: c"}`}, {Data: "one\n\ntwo\n"}, {Event: "e"}, {Data: " leading"}} {
		var buf bytes.Buffer
		if err := wire.WriteSSE(&buf, tt.Event, []byte(tt.Data)); err != nil {
			t.Fatal(err)
		}
		got, err := frames(wire.NewSSE(&buf))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]frame{tt}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// slowSSE reads server-sent events the plain way: all lines first, then field
// by field.
func slowSSE(in string) []frame {
	in = strings.TrimPrefix(in, bom)
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	var out []frame
	var f frame
	var data []string
	for _, line := range append(strings.Split(in, "\n"), "") { // the end completes an event
		if line == "" {
			if data != nil {
				f.Data = strings.Join(data, "\n")
				out = append(out, f)
			}
			f, data = frame{}, nil
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data = append(data, value)
		case "event":
			f.Event = value
		}
	}
	return out
}

func FuzzSSE(f *testing.F) {
	for _, tt := range sseCases {
		f.Add([]byte(tt.in), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		want := slowSSE(string(in))
		for how, r := range map[string]io.Reader{
			"whole":   bytes.NewReader(in),
			"bytes":   iotest.OneByteReader(bytes.NewReader(in)),
			"in half": iotest.HalfReader(bytes.NewReader(in)),
			"cut":     cutReader(in, cut),
		} {
			got, err := frames(wire.NewSSE(r))
			if err != nil {
				t.Fatalf("%s: %v", how, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", how, diff)
			}
		}
	})
}

func cutReader(in []byte, cut int) io.Reader {
	cut = min(max(cut, 0), len(in))
	return io.MultiReader(bytes.NewReader(in[:cut]), bytes.NewReader(in[cut:]))
}

func BenchmarkSSE(b *testing.B) {
	const events = 1000
	var in bytes.Buffer
	for i := range events {
		fmt.Fprintf(&in, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word %d\"}}\n\n", i)
	}
	benchmarkFrames(b, in.Bytes(), events, func(r io.Reader) wire.FrameReader { return wire.NewSSE(r) })
}

// benchmarkFrames reads the same stream of n frames again and again.
func benchmarkFrames(b *testing.B, in []byte, n int, open func(io.Reader) wire.FrameReader) {
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r, got := open(bytes.NewReader(in)), 0
		for _, err := r.Next(); err == nil; _, err = r.Next() {
			got++
		}
		if got != n {
			b.Fatalf("%d frames of %d", got, n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/frame")
}
