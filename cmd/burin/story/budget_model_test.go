package story_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm/llmtest"
)

// stream is an answer in the format of Anthropic's Messages, encoded before it is asked
// for, so that what is measured is burin.
type stream struct {
	head, tail []byte
	tokens     [][]byte
	pace       time.Duration // between tokens; 0: as fast as the connection takes them
	stall      bool          // nothing after the tokens, until the client goes away
}

// newStream encodes tokens.
func newStream(tokens []string) *stream {
	s := &stream{
		head: frame("message_start", `"message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}`),
		tail: frame("content_block_stop", `"index":0`),
	}
	s.head = append(s.head, frame("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`)...)
	s.tail = append(s.tail, frame("message_delta", fmt.Sprintf(`"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":%d}`, len(tokens)))...)
	s.tail = append(s.tail, frame("message_stop", "")...)
	for _, token := range tokens {
		text, err := json.Marshal(token)
		if err != nil {
			panic(err) // a string can be encoded
		}
		s.tokens = append(s.tokens, frame("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":`+string(text)+`}`))
	}
	return s
}

func frame(name, fields string) []byte {
	if fields != "" {
		fields = "," + fields
	}
	return fmt.Appendf(nil, "event: %s\ndata: {\"type\":%q%s}\n\n", name, name, fields)
}

// serve answers each request with the next of the streams.
func serve(t *testing.T, streams ...*stream) *llmtest.Server {
	t.Helper()
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := int(n.Add(1)) - 1
		if i >= len(streams) {
			http.Error(w, "the script has ended", http.StatusBadRequest)
			return
		}
		streams[i].play(w, r)
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return &llmtest.Server{URL: srv.URL}
}

func (s *stream) play(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	to := http.NewResponseController(w)
	_, _ = w.Write(s.head) // here and below: a client that went away is seen by its context
	_ = to.Flush()
	if s.pace == 0 {
		for _, token := range s.tokens {
			_, _ = w.Write(token)
		}
	} else if !s.playPaced(w, r) {
		return
	}
	if s.stall {
		_ = to.Flush()
		<-r.Context().Done()
		return
	}
	_, _ = w.Write(s.tail)
}

func (s *stream) playPaced(w http.ResponseWriter, r *http.Request) bool {
	tick := time.NewTicker(s.pace)
	defer tick.Stop()
	to := http.NewResponseController(w)
	for _, token := range s.tokens {
		_, _ = w.Write(token)
		_ = to.Flush()
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return false
		}
	}
	return true
}

// prose is an answer of n tokens of some four characters, as models write: paragraphs,
// lists, code and tables. The paragraphs are numbered and end with the last number.
func prose(n int) (tokens []string, parts int) {
	const part = `## Part %d of the answer

Paragraph %d has **strong words**, *others*, ` + "`code`" + ` and is as long as paragraphs
of models are: four or five lines at the width of a terminal, with a few numbers such as
3.14 and 2,718 in between, so that nothing is as simple as it looks.

1. An item with text that goes on for a while
2. Another
   - nested, with ` + "`names`" + ` in it
   - nested again

` + "```go" + `
func Sum%d(values []int) (total int) {
	for _, v := range values { // add them
		total += v
	}
	return total
}
` + "```" + `

`
	for len(tokens) < n {
		parts++
		text := fmt.Sprintf(part, parts, parts, parts)
		for text != "" {
			size := min(4, len(text))
			tokens = append(tokens, text[:size])
			text = text[size:]
		}
	}
	return append(tokens, "The", " end", "."), parts
}

// inOrder reports which of the parts of prose is not where it belongs in the lines of a
// terminal, "" if all are.
func inOrder(lines []string, parts int) string {
	next, kind := 1, 0
	for _, l := range lines {
		want := [...]string{"Part %d of the answer", "Paragraph %d has strong words", "func Sum%d("}[kind]
		if strings.HasPrefix(strings.TrimLeft(l, " #"), fmt.Sprintf(want, next)) {
			if kind = (kind + 1) % 3; kind == 0 {
				next++
			}
		}
	}
	if next <= parts {
		return fmt.Sprintf("part %d of %d, piece %d", next, parts, kind)
	}
	return ""
}
