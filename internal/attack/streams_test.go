//go:build linux

package attack

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/bedrock"
	"github.com/burin-dev/burin/llm/google"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

// formats are the wire formats, and where each begins at a server.
var formats = []struct {
	api, base string
	server    wire.Server
}{
	{"anthropic-messages", "", anthropic.Server{}},
	{"openai-responses", "/v1", openai.ResponsesServer{}},
	{"openai-completions", "/v1", openai.CompletionsServer{}},
	{"google-generative-ai", "", google.Server{}},
	{"bedrock-converse-stream", "", bedrock.Server{}},
}

// answer writes one answer; it ends where write fails, which is when burin has gone.
type answer func(w *pipe)

// pipe is an answer on its way.
type pipe struct {
	http.ResponseWriter
	r   *http.Request
	enc wire.Encoder
}

// gone says whether burin has closed the connection.
func (p *pipe) gone() bool { return p.r.Context().Err() != nil }

func (p *pipe) event(ev llm.Event) bool { return !p.gone() && p.enc.Encode(ev) == nil }

func (p *pipe) raw(text string) bool {
	if p.gone() {
		return false
	}
	if _, err := io.WriteString(p, text); err != nil {
		return false
	}
	return http.NewResponseController(p.ResponseWriter).Flush() == nil
}

// wait pauses, and says whether burin is still there.
func (p *pipe) wait(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-p.r.Context().Done():
		return false
	}
}

func (p *pipe) begin() {
	p.event(llm.Event{Type: llm.EventStart, Message: &llm.Message{ResponseID: "r"}})
}

var (
	chunk = strings.Repeat("words and more words ", 800)
	tiny  = "w "
)

// deltas never end a block.
func deltas(start, delta llm.EventType, block llm.Block, text string) answer {
	return func(p *pipe) {
		p.begin()
		p.event(llm.Event{Type: start, Block: block})
		for p.event(llm.Event{Type: delta, Delta: text}) {
		}
	}
}

// blocks never end an answer, but each of its blocks.
func blocks(kind func(i int) (llm.EventType, llm.EventType, llm.EventType, llm.Block, llm.Block, string)) answer {
	return func(p *pipe) {
		p.begin()
		for i := 0; ; i++ {
			start, delta, end, open, whole, text := kind(i)
			if !p.event(llm.Event{Type: start, Index: i, Block: open}) || !p.event(llm.Event{Type: delta, Index: i, Delta: text}) ||
				!p.event(llm.Event{Type: end, Index: i, Block: whole}) {
				return
			}
		}
	}
}

// endless are answers with content that never ends.
var endless = []struct {
	name string
	answer
}{
	{"text", deltas(llm.EventTextStart, llm.EventTextDelta, llm.Text{}, chunk)},
	{"thinking", deltas(llm.EventThinkingStart, llm.EventThinkingDelta, llm.Thinking{}, chunk)},
	{"arguments", deltas(llm.EventToolCallStart, llm.EventToolCallDelta, llm.ToolCall{ID: "c", Name: "write"}, chunk)},
	{"spaces of arguments", deltas(llm.EventToolCallStart, llm.EventToolCallDelta, llm.ToolCall{ID: "c", Name: "write"}, strings.Repeat(" ", 16000))},
	// These come slowly, so they run with a low limit of tokens.
	{"text in small pieces", deltas(llm.EventTextStart, llm.EventTextDelta, llm.Text{}, tiny)},
	{"blocks of text", blocks(func(int) (llm.EventType, llm.EventType, llm.EventType, llm.Block, llm.Block, string) {
		return llm.EventTextStart, llm.EventTextDelta, llm.EventTextEnd, llm.Text{}, llm.Text{Text: "a"}, "a"
	})},
	{"calls", blocks(func(i int) (llm.EventType, llm.EventType, llm.EventType, llm.Block, llm.Block, string) {
		c := llm.ToolCall{ID: fmt.Sprint("c", i), Name: "read"}
		whole := c
		whole.Arguments = `{"path":"a.txt"}`
		return llm.EventToolCallStart, llm.EventToolCallDelta, llm.EventToolCallEnd, c, whole, whole.Arguments
	})},
}

// boundless are answers below the format that never end: of the one connection, a
// line, a comment, a head, an error, a body that unpacks to more.
var boundless = []struct {
	name string
	answer
}{
	{"one line", func(p *pipe) {
		p.Header().Set("Content-Type", "text/event-stream")
		for ok := p.raw("data: "); ok; ok = p.raw(chunk) {
		}
	}},
	{"one event of many lines", func(p *pipe) {
		p.Header().Set("Content-Type", "text/event-stream")
		for p.raw("data: " + chunk + "\n") {
		}
	}},
	{"name of an event", func(p *pipe) {
		p.Header().Set("Content-Type", "text/event-stream")
		for ok := p.raw("event: "); ok; ok = p.raw(chunk) {
		}
	}},
	{"one comment", func(p *pipe) {
		p.Header().Set("Content-Type", "text/event-stream")
		for ok := p.raw(": "); ok; ok = p.raw(chunk) {
		}
	}},
	{"body in JSON", func(p *pipe) {
		p.Header().Set("Content-Type", "application/json")
		for ok := p.raw(`{"content":[{"type":"text","text":"`); ok; ok = p.raw(chunk) {
		}
	}},
	{"page", func(p *pipe) {
		p.Header().Set("Content-Type", "text/html")
		for ok := p.raw("<!doctype html><html><body>"); ok; ok = p.raw(chunk) {
		}
	}},
	{"error", func(p *pipe) {
		p.WriteHeader(http.StatusBadRequest)
		for ok := p.raw(`{"error":{"message":"`); ok; ok = p.raw(chunk) {
		}
	}},
	{"packed body", func(p *pipe) {
		p.Header().Set("Content-Type", "text/event-stream")
		p.Header().Set("Content-Encoding", "gzip")
		z, err := gzip.NewWriterLevel(p, gzip.BestSpeed)
		if err != nil {
			return
		}
		_, _ = io.WriteString(z, "data: ")
		for !p.gone() {
			if _, err := io.WriteString(z, chunk); err != nil {
				return
			}
		}
	}},
	{"interim answers", func(p *pipe) {
		for !p.gone() {
			p.Header().Set("Link", "</"+chunk[:1000]+">")
			p.WriteHeader(http.StatusEarlyHints)
		}
	}},
}

// alive are answers that have no content, but never fall silent.
var alive = []struct {
	name string
	answer
}{
	{"comments from the beginning", func(p *pipe) {
		p.Header().Set("Content-Type", "text/event-stream")
		for p.raw(": keep alive\n\n") && p.wait(50*time.Millisecond) {
		}
	}},
	{"comments within", func(p *pipe) {
		p.begin()
		for p.raw(": keep alive\n\n") && p.wait(50*time.Millisecond) {
		}
	}},
	{"pings", func(p *pipe) {
		p.begin()
		for p.raw("event: ping\ndata: {\"type\":\"ping\"}\n\n") && p.wait(50*time.Millisecond) {
		}
	}},
	{"empty lines", func(p *pipe) {
		p.begin()
		for p.raw("\n") && p.wait(50*time.Millisecond) {
		}
	}},
	{"unknown events", func(p *pipe) {
		p.begin()
		for p.raw("event: response.queued\ndata: {\"type\":\"response.in_progress\"}\n\n") && p.wait(50*time.Millisecond) {
		}
	}},
	{"empty deltas", func(p *pipe) {
		p.begin()
		p.event(llm.Event{Type: llm.EventTextStart, Block: llm.Text{}})
		for p.event(llm.Event{Type: llm.EventTextDelta}) && p.wait(50*time.Millisecond) {
		}
	}},
	{"comments after some text", func(p *pipe) {
		p.begin()
		p.event(llm.Event{Type: llm.EventTextStart, Block: llm.Text{}})
		p.event(llm.Event{Type: llm.EventTextDelta, Delta: "some text"})
		for p.raw(": keep alive\n\n") && p.wait(50*time.Millisecond) {
		}
	}},
	{"one letter of a comment at a time", func(p *pipe) {
		p.begin()
		for p.raw(":") && p.wait(50*time.Millisecond) {
		}
	}},
}

// host serves one answer to every request.
func host(t *testing.T, format wire.Server, a answer) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !format.Match(r) {
			http.NotFound(w, r)
			return
		}
		asked.Add(1)
		req, _, err := format.DecodeRequest(r, body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a(&pipe{ResponseWriter: w, r: r, enc: format.NewEncoder(w, req, true)})
	}))
	t.Cleanup(srv.Close)
	return srv.URL, asked
}

// stream lets burin read one answer, and says what is wrong with how it ends.
func stream(t *testing.T, format int, a answer, l limits, args ...string) string {
	t.Helper()
	f := formats[format]
	url, asked := host(t, f.server, a)
	b := newBox(t)
	b.put(t, "ws/a.txt", "alpha\n")
	settings := b.content("home/.burin/config.yml")
	// Silence is short here. The limit for answers without content has a setting where
	// burin knows it.
	b.put(t, "home/.burin/config.yml", settings+"stream: {firstEventTimeoutMs: 3000, idleTimeoutMs: 3000, noContentTimeoutMs: 3000}\n")
	if e := b.start(t, limits{}, nil, "sessions"); e.code != 0 {
		b.put(t, "home/.burin/config.yml", settings+"stream: {firstEventTimeoutMs: 3000, idleTimeoutMs: 3000}\n")
	}
	b.env = append(b.env, "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_REGION=us-east-1")
	l.quiet = true
	e := b.start(t, l, nil, append([]string{"-p", "hi", "--approval", "full", "--max-turns", "2", "--model", "shop/m", "--api", f.api, "--base-url", url + f.base}, args...)...)
	t.Logf("took %s, held %d MB: %s", e.took.Round(time.Millisecond), e.peak>>20, clip(e.err, 160))
	switch {
	case asked.Load() == 0:
		return "no request came: " + e.err
	case e.killed != "":
		return e.killed
	case e.err == "":
		return "it ended without a word"
	case e.peak > streamMemory:
		return fmt.Sprintf("it held %d MB", e.peak>>20)
	}
	return ""
}

const streamMemory = 200 << 20

// An answer that never ends is ended, with a reason, in little memory.
func TestStreamsEndless(t *testing.T) {
	for i, f := range formats {
		for j, s := range endless {
			if j > 2 && i != j%len(formats) { // each of these once, the others in every format
				continue
			}
			var args []string
			if j > 3 {
				args = []string{"--max-tokens", "1000"}
			}
			hole(t, f.api+" "+s.name, "an answer of "+f.api+" with endless "+s.name, stream(t, i, s.answer, limits{memory: streamMemory, time: 12 * time.Second}, args...))
		}
	}
	for j := range 3 {
		hole(t, "mode json "+endless[j].name, "endless "+endless[j].name+" with --mode json", stream(t, j, endless[j].answer, limits{memory: streamMemory, time: 12 * time.Second}, "--mode", "json"))
	}
	hole(t, "with --max-tokens", "endless text although --max-tokens is 100", stream(t, 0, endless[0].answer, limits{memory: streamMemory, time: 12 * time.Second}, "--max-tokens", "100"))
}

// What is below the format is bounded too.
func TestStreamsBoundless(t *testing.T) {
	for j, s := range boundless {
		i := j % 4
		hole(t, s.name, "endless "+s.name+" to a client of "+formats[i].api, stream(t, i, s.answer, limits{memory: streamMemory, time: 12 * time.Second}))
	}
}

// An answer that is alive but has no content ends.
func TestStreamsAlive(t *testing.T) {
	t.Parallel()
	for j, s := range alive {
		i := j % 4
		if s.name == "pings" {
			i = 0
		}
		t.Run(s.name, func(t *testing.T) { // side by side: each takes as long as it is let
			t.Parallel()
			hole(t, "ends", s.name+" to a client of "+formats[i].api, stream(t, i, s.answer, limits{memory: streamMemory, time: the.idle}))
		})
	}
}

// Any format with anything endless, in pieces of any size, at any time.
func TestStreamsGenerated(t *testing.T) {
	r := dice(9)
	for n := range the.count / 8 {
		i, s := r.IntN(len(formats)), pick(r, endless)
		size := 1 << (6 + r.IntN(11))
		before := r.IntN(50)
		a := func(p *pipe) {
			p.begin()
			for i := range before {
				p.event(llm.Event{Type: llm.EventTextStart, Index: i, Block: llm.Text{}})
				p.event(llm.Event{Type: llm.EventTextDelta, Index: i, Delta: "before "})
				p.event(llm.Event{Type: llm.EventTextEnd, Index: i, Block: llm.Text{Text: "before "}})
			}
			kind := []llm.EventType{llm.EventTextStart, llm.EventThinkingStart, llm.EventToolCallStart}[n%3]
			delta := []llm.EventType{llm.EventTextDelta, llm.EventThinkingDelta, llm.EventToolCallDelta}[n%3]
			block := []llm.Block{llm.Text{}, llm.Thinking{}, llm.ToolCall{ID: "c", Name: "bash"}}[n%3]
			p.event(llm.Event{Type: kind, Index: before, Block: block})
			for p.event(llm.Event{Type: delta, Index: before, Delta: strings.Repeat("x", size)}) {
			}
		}
		hole(t, fmt.Sprint(n), fmt.Sprintf("%s: %d blocks, then endless deltas of %d bytes (%s)", formats[i].api, before, size, s.name),
			stream(t, i, a, limits{memory: streamMemory, time: 12 * time.Second}, "--max-tokens", "2000"))
	}
}

// One answer with very many calls is bounded in time and memory.
func TestStreamsManyCalls(t *testing.T) {
	const calls = 100_000
	first := atomic.Bool{}
	a := func(p *pipe) {
		p.begin()
		if first.Swap(true) {
			p.event(llm.Event{Type: llm.EventTextStart, Block: llm.Text{}})
			p.event(llm.Event{Type: llm.EventTextDelta, Delta: "done"})
			p.event(llm.Event{Type: llm.EventTextEnd, Block: llm.Text{Text: "done"}})
			p.event(llm.Event{Type: llm.EventDone, Message: &llm.Message{StopReason: llm.StopEnd}})
			return
		}
		args, _ := json.Marshal(map[string]string{"path": "a.txt"})
		for i := range calls {
			c := llm.ToolCall{ID: fmt.Sprint("c", i), Name: "read"}
			whole := c
			whole.Arguments = string(args)
			if !p.event(llm.Event{Type: llm.EventToolCallStart, Index: i, Block: c}) ||
				!p.event(llm.Event{Type: llm.EventToolCallDelta, Index: i, Delta: whole.Arguments}) ||
				!p.event(llm.Event{Type: llm.EventToolCallEnd, Index: i, Block: whole}) {
				return
			}
		}
		p.event(llm.Event{Type: llm.EventDone, Message: &llm.Message{StopReason: llm.StopToolUse}})
	}
	url, _ := host(t, formats[0].server, a)
	b := newBox(t)
	b.put(t, "ws/a.txt", "alpha\n")
	e := b.start(t, limits{memory: 500 << 20, time: 12 * time.Second, quiet: true}, nil, "-p", "hi", "--model", "shop/m", "--api", "anthropic-messages", "--base-url", url)
	hole(t, "100,000 calls", "one answer with 100,000 parallel calls", e.killed)
	t.Logf("took %s, held %d MB: %s", e.took, e.peak>>20, clip(e.err, 200))
}
