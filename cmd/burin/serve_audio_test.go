package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
)

// recording is a second of silence as WAV.
func recording() string {
	const rate = 8000
	var b bytes.Buffer
	b.WriteString("RIFF")
	_ = binary.Write(&b, binary.LittleEndian, uint32(36+rate))
	b.WriteString("WAVEfmt ")
	_ = binary.Write(&b, binary.LittleEndian, []uint32{16, 1<<16 | 1, rate, rate, 8<<16 | 1})
	b.WriteString("data")
	_ = binary.Write(&b, binary.LittleEndian, uint32(rate))
	b.Write(bytes.Repeat([]byte{0x80}, rate))
	return b.String()
}

// ears adds a model that hears, ear/hears, to a machine.
func ears(t *testing.T, configHome, said string) *llmtest.Server {
	t.Helper()
	srv, err := llmtest.Serve(openai.CompletionsServer{}, llmtest.Script{Turns: slices.Repeat([]llmtest.Turn{{Parts: []llmtest.Part{{Text: said}}}}, 10)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	models := filepath.Join(configHome, "models.yml")
	was, err := os.ReadFile(models)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, models, append(was, fmt.Sprintf("  ear: {baseUrl: '%s/v1', api: openai-completions, auth: none, models: [{id: hears, contextWindow: 100000, maxTokens: 1000, input: [text, audio], cost: free}]}\n", srv.URL)...), 0o600)
	return srv
}

// A recording reaches a model that hears as it is. Another reads what the model of the role transcribe writes down, which is
// paid by the chat; without one the person is told.
func TestServeRecordings(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, "modelRoles: {default: box/one, transcribe: ear/hears}\n")
	heard := ears(t, filepath.Join(filepath.Dir(cmd.Dir), "burin"), "I take the train at nine.")
	c := serveIt(t, cmd)
	wav := recording()
	send := func(model string) (chat string) {
		t.Helper()
		var begun struct{ Chat chatOf }
		c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"model": model}, &begun)
		chat = begun.Chat.ID
		var a project.Attachment
		c.send(http.StatusCreated, "POST", "/v1/chats/"+chat+"/attachments?name=memo.wav", wav, &a)
		if a.Type != "audio/wav" {
			t.Errorf("it is attached as %+v", a)
		}
		message := map[string]any{"role": "user", "content": []any{map[string]any{"type": "document", "url": "attachment:" + a.ID}, map[string]any{"type": "text", "text": "say I listen"}}}
		c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/submit", map[string]any{"id": "m", "message": message}, nil)
		c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/wait", map[string]any{"id": "m"}, nil)
		return chat
	}
	sound := func(r *llm.Request) int {
		n := 0
		for _, m := range r.Messages {
			for _, block := range m.Content {
				if d, ok := block.(llm.Document); ok && d.MIME == "audio/wav" && string(d.Data) == wav {
					n++
				}
			}
		}
		return n
	}

	chat := send("box/one")
	all := heard.Requests()
	if len(all) != 1 || sound(all[0]) != 1 || !strings.Contains(all[0].System, "word for word") {
		t.Fatalf("the model that hears got %d requests: %+v", len(all), all)
	}
	deaf := b.srv.Requests()
	if said := textsOf(deaf[len(deaf)-1].Messages); !strings.Contains(said, "memo.wav") || !strings.Contains(said, "I take the train at nine.") {
		t.Errorf("the model of the chat read %q", said)
	}
	var stats struct {
		Facts struct{ Stats struct{ Requests int } }
	}
	c.must(http.StatusOK, "GET", "/v1/sessions/"+chat, nil, &stats)
	if stats.Facts.Stats.Requests != 2 {
		t.Errorf("the chat has %d requests", stats.Facts.Stats.Requests)
	}

	// The page gets its address and its text, in place of the bytes, and hears it there.
	var nodes struct{ Nodes []struct{ ID, Role string } }
	c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/nodes", nil, &nodes)
	entry := ""
	for _, n := range nodes.Nodes {
		if n.Role == "user" {
			entry = n.ID
		}
	}
	lean := c.send(http.StatusOK, "POST", "/v1/sessions/"+chat+"/entries?pictures=address", `{"ids":["`+entry+`"]}`, nil)
	at := "/v1/sessions/" + chat + "/picture?entry=" + entry + "&n=0"
	if !strings.Contains(strings.ReplaceAll(lean, `\u0026`, "&"), at) || strings.Contains(lean, `"data"`) || !strings.Contains(lean, "I take the train at nine.") {
		t.Errorf("the page gets %s", lean)
	}
	r, err := http.DefaultClient.Do(c.request("GET", at, ""))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil || string(got) != wav || r.Header.Get("Content-Type") != "audio/wav" || r.Header.Get("Content-Disposition") != `inline; filename=memo.wav` {
		t.Errorf("it gets %d bytes, %v, %v", len(got), r.Header, err)
	}

	send("ear/hears")
	all = heard.Requests()
	if last := all[len(all)-1]; len(all) != 2 || sound(last) != 1 || strings.Contains(last.System, "word for word") {
		t.Errorf("the model that hears got %d requests, the last one %+v", len(all), last)
	}
	c.end()
}

// In the terminal a recording is attached as any file; without the role the person reads that it does not reach the model.
func TestRecordingWithoutEars(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	writeFile(t, filepath.Join(cmd.Dir, "memo.wav"), []byte(recording()), 0o600)
	cmd.Args = append(cmd.Args, "-p", "say fine", "@memo.wav")
	var told bytes.Buffer
	cmd.Stderr = &told
	if _, err := cmd.Output(); err != nil {
		t.Fatalf("%v: %s", err, told.String())
	}
	if want := "memo.wav does not reach the model: box/one does not hear recordings, and modelRoles.transcribe in config.yml names none that does"; !strings.Contains(told.String(), want) {
		t.Errorf("it says %q", told.String())
	}
	all := b.srv.Requests()
	if said := textsOf(all[len(all)-1].Messages); !strings.Contains(said, "[A recording was here: memo.wav. This model does not hear it.]") {
		t.Errorf("the model read %q", said)
	}
}
