package openai_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/openai"
)

var chatUpdate = flag.Bool("update-completions", false, "write the golden files of Chat Completions recordings")

// madeUp matches the ids that the client makes up for calls without one.
var madeUp = regexp.MustCompile(`call_[A-Z2-7]{26}`)

type goldenEvent struct {
	Type    llm.EventType   `json:"type"`
	Index   int             `json:"index,omitempty"`
	Delta   string          `json:"delta,omitempty"`
	Block   json.RawMessage `json:"block,omitempty"`
	Message *llm.Message    `json:"message,omitempty"`
}

// goldenEvents writes events one a line.
func goldenEvents(t *testing.T, s llm.Stream) []byte {
	t.Helper()
	var out bytes.Buffer
	for ev := range llm.Events(s) {
		g := goldenEvent{Type: ev.Type, Index: ev.Index, Delta: ev.Delta}
		if ev.Block != nil && !strings.HasSuffix(string(ev.Type), "_start") {
			whole, err := json.Marshal(llm.Message{Content: []llm.Block{ev.Block}})
			if err != nil {
				t.Fatal(err)
			}
			var m struct{ Content []json.RawMessage }
			if err := json.Unmarshal(whole, &m); err != nil {
				t.Fatal(err)
			}
			g.Block = m.Content[0]
		}
		if ev.Type.Terminal() {
			g.Message = ev.Message
			g.Message.Time = time.Time{}
		}
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(g); err != nil {
			t.Fatal(err)
		}
	}
	return madeUp.ReplaceAll(out.Bytes(), []byte("call_MADE_UP"))
}

func TestCompletionsRecordings(t *testing.T) {
	files, err := filepath.Glob("testdata/completions/*.sse")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sse"), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := goldenEvents(t, cannedStream(t, openai.CompletionsOptions{}, body))
			golden := strings.TrimSuffix(file, ".sse") + ".golden.json"
			if *chatUpdate {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
