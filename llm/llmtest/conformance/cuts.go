package conformance

import (
	"bytes"
	"io"
	"runtime/debug"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// rich is an answer with something of everything the format can carry.
func rich() []llm.Event {
	return join(
		llmtest.Think("Let me see, 漢字.", "c2lnbmF0dXJl"),
		chars("Hé 🦊!"),
		llmtest.Call("call_a", "read", `{"path":"a \"b\" é 🦊"}`),
		llmtest.Call("call_b", "list_files", `{"deep":{"n":[1,2]}}`),
		llmtest.Stop(llm.StopToolUse, llm.Usage{Input: 10, Output: 20, CacheRead: 5}),
	)
}

// recorded are the answers to cut and to damage.
func recorded() map[string][]llm.Event {
	length := llmtest.Stop(llm.StopLength, llm.Usage{Input: 1, Output: 2})
	return map[string][]llm.Event{
		"rich":   rich(),
		"text":   join(chars("Plain {\"text\"}."), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1, Output: 2})),
		"length": join(chars("Not to the e"), length),
		"call":   llmtest.Call("call_a", "read", `{"path":{"a":"}"}}`),
	}
}

// testCuts ends the answer after each of its bytes, once as if the server had
// said that this is all, once as a broken connection.
func (s faultChecks) testCuts(t *testing.T) {
	for name, events := range recorded() {
		rec := s.record(t, events)
		whole, err := read(t, s.replay(rec, readerOf(rec.body)).Stream(t.Context(), s.ask()))
		if err != nil {
			t.Fatal(err)
		}
		for manner, end := range map[string]error{"ended": io.EOF, "broken": io.ErrUnexpectedEOF} {
			t.Run(name+" "+manner, func(t *testing.T) {
				n := 0
				c := s.replay(rec, func() io.Reader { return &brokenReader{rec.body[:n], end} })
				for ; n < len(rec.body) && !t.Failed(); n += stride() {
					got, err := read(t, c.Stream(t.Context(), s.ask()))
					s.checkCut(t, n, rec.body, whole, got, err)
				}
			})
		}
	}
}

// testFlips changes each byte of the answer in turn. Whatever a client makes of
// that, it does not panic, and its stream keeps what streams promise.
func (s faultChecks) testFlips(t *testing.T) {
	rec := s.record(t, rich())
	bad := make([]byte, len(rec.body))
	c := s.replay(rec, func() io.Reader { return bytes.NewReader(bad) })
	for i := 0; i < len(bad) && !t.Failed(); i += stride() {
		flip := []byte{0x01, 0x20, 0x80, 0x06}[i%4]
		copy(bad, rec.body)
		bad[i] ^= flip
		s.readDamaged(t, c)
		if t.Failed() {
			t.Logf("byte %d flipped with %#x: %q", i, flip, bad[max(0, i-60):min(len(bad), i+60)])
		}
	}
}

// readDamaged reads an answer and turns a panic into a failure.
func (s faultChecks) readDamaged(t *testing.T, c llm.Client) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	_, _ = read(t, c.Stream(t.Context(), s.ask()))
}

// checkCut says what may come of an answer that was cut after n bytes.
func (s faultChecks) checkCut(t *testing.T, n int, body []byte, whole, got *llm.Message, err error) {
	t.Helper()
	at := string(body[max(0, n-60):n])
	if err == nil {
		if diff := cmp.Diff(visible(whole.Content), visible(got.Content)); diff != "" || got.StopReason != whole.StopReason {
			t.Errorf("cut after %d bytes (…%q) the answer counts as done, with %s and (-whole +got):\n%s", n, at, got.StopReason, diff)
		}
		return
	}
	if e := failure(t, err); e.Kind != llm.ErrTransport {
		t.Errorf("cut after %d bytes (…%q): %s, want %s: %v", n, at, e.Kind, llm.ErrTransport, e)
	}
	calls := whole.ToolCalls()
	for i, call := range got.ToolCalls() {
		if call.Defect != "" {
			continue
		}
		if i >= len(calls) || call.Name != calls[i].Name || call.Arguments != calls[i].Arguments {
			t.Errorf("cut after %d bytes (…%q) the call of %s may run with %q", n, at, call.Name, call.Arguments)
		}
	}
}

// testSplit delivers the answer in pieces of all sizes, so that characters,
// lines and frames are split everywhere.
func (s faultChecks) testSplit(t *testing.T) {
	rec := s.record(t, rich())
	var want *llm.Message
	for name, body := range map[string]func() io.Reader{
		"byte by byte": func() io.Reader { return iotest.OneByteReader(readerOf(rec.body)()) },
		"halves":       func() io.Reader { return iotest.HalfReader(readerOf(rec.body)()) },
		"end at once":  func() io.Reader { return iotest.DataErrReader(readerOf(rec.body)()) },
	} {
		if want == nil {
			var err error
			if want, err = read(t, s.replay(rec, readerOf(rec.body)).Stream(t.Context(), s.ask())); err != nil {
				t.Fatal(err)
			}
		}
		got, err := read(t, s.replay(rec, body).Stream(t.Context(), s.ask()))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got.Time = want.Time
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-whole +split):\n%s", name, diff)
		}
	}
}
