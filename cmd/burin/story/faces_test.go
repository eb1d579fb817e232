package story_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// machine is a program that takes part in a session, by lines of JSON.
type machine struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan map[string]json.RawMessage
	bare  bool   // its events are lines of their own
	raw   []told // the events that it was told, as they came
}

// told is an event as a face got it.
type told struct {
	Epoch string          `json:"epoch"`
	Event json.RawMessage `json:"event"`
}

// seen is what of an event is compared.
type seen struct {
	Type string `json:"type"`
	Seq  uint64 `json:"seq"`
}

// join starts a program with the person's settings, in their folder.
func (s *story) join(args ...string) *machine {
	s.t.Helper()
	cmd := exec.Command(program(s.t), args...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "HOME="+filepath.Dir(s.home), "BURIN_HOME="+s.home, "BURIN_NO_KEYRING=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	m := &machine{t: s.t, in: in, lines: make(chan map[string]json.RawMessage, 10_000)}
	s.t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("burin %s ended with %v", strings.Join(args, " "), err)
		}
	})
	go func() {
		defer close(m.lines)
		r := bufio.NewScanner(out)
		r.Buffer(nil, 16<<20)
		for r.Scan() {
			line := map[string]json.RawMessage{}
			if err := json.Unmarshal(r.Bytes(), &line); err != nil {
				s.t.Errorf("burin %s wrote %s: %v", strings.Join(args, " "), r.Text(), err)
			}
			line[""] = append(json.RawMessage(nil), r.Bytes()...)
			m.lines <- line
		}
	}()
	return m
}

func (m *machine) send(format string, args ...any) {
	m.t.Helper()
	if _, err := fmt.Fprintf(m.in, format+"\n", args...); err != nil {
		m.t.Error(err)
	}
}

// until reads lines until one is what is meant.
func (m *machine) until(what string, is func(line map[string]json.RawMessage) bool) map[string]json.RawMessage {
	m.t.Helper()
	late := time.After(waitTime)
	for {
		select {
		case line, ok := <-m.lines:
			if !ok {
				m.t.Fatalf("it ended before %s", what)
			}
			m.note(line)
			if is(line) {
				return line
			}
		case <-late:
			m.t.Fatalf("no %s", what)
		}
	}
}

// note keeps a raw event, however the face wraps it.
func (m *machine) note(line map[string]json.RawMessage) {
	var e told
	switch {
	case text(line["type"]) == "burin/event":
		_ = json.Unmarshal(line[""], &e)
	case text(line["method"]) == "_burin/event":
		_ = json.Unmarshal(line["params"], &e)
	case m.bare && line["seq"] != nil:
		e.Event = line[""]
	default:
		return
	}
	m.raw = append(m.raw, e)
}

// settled reads on until as many prompts are done.
func (m *machine) settled(n int) {
	m.t.Helper()
	m.until(fmt.Sprint(n, " settled prompts"), func(map[string]json.RawMessage) bool {
		done := 0
		for _, e := range m.raw {
			var s seen
			if json.Unmarshal(e.Event, &s) == nil && s.Type == "agent_settled" {
				done++
			}
		}
		return done >= n
	})
}

func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // what is no text is not what is looked for
	return s
}

func reply(id string) func(map[string]json.RawMessage) bool {
	return func(line map[string]json.RawMessage) bool {
		return strings.Trim(string(line["id"]), `"`) == id && line["method"] == nil
	}
}

// digest is the hash over epoch, number, type and content of the events from a number on.
// Pieces are left out: who is slow does not get all of them.
func (m *machine) digest(epoch string, from uint64) (digest string, n int) {
	m.t.Helper()
	h := sha256.New()
	for _, e := range m.raw {
		var s seen
		if err := json.Unmarshal(e.Event, &s); err != nil {
			m.t.Fatal(err)
		}
		if s.Seq < from || s.Type == "message_update" || s.Type == "tool_execution_update" {
			continue
		}
		if e.Epoch == "" {
			e.Epoch = epoch
		}
		fmt.Fprintf(h, "%s %d %s %s\n", e.Epoch, s.Seq, s.Type, e.Event)
		n++
	}
	return hex.EncodeToString(h.Sum(nil)), n
}

// A terminal, a JSON client, an RPC client and an editor have one session open at once. Each
// sends a prompt, a question is answered in another one, and all are told the same.
func TestAllFacesShareASession(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		say("Hello from the terminal."), call("bash", `{"command":"touch made"}`), say("Made for RPC."), say("Said for JSON."), say("Said for the editor."), say("Last words."),
	})
	s.send("hello")
	s.WaitText("Hello from the terminal.")
	s.WaitGone("Working")
	files, err := filepath.Glob(filepath.Join(s.home, "sessions", "*", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("sessions: %v, %v", files, err)
	}
	_, id, _ := strings.Cut(strings.TrimSuffix(filepath.Base(files[0]), ".jsonl"), "_")

	rpc := s.join("--mode", "rpc", "--resume", files[0])
	rpc.send(`{"id":"f","type":"burin/follow"}`)
	rpc.until("the answer", reply("f"))
	lines := s.join("--mode", "json", "--input-format", "json", "--resume", files[0])
	lines.bare = true
	lines.send(`{"id":"c","type":"burin/cursor"}`)
	var at struct{ Data struct{ Epoch string } }
	if err := json.Unmarshal(lines.until("the cursor", reply("c"))[""], &at); err != nil || at.Data.Epoch == "" {
		t.Fatalf("cursor %+v, %v", at, err)
	}
	editor := s.join("acp")
	editor.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"_meta":{"burin":{"events":true}}}}}`)
	editor.until("the greeting", reply("1"))
	editor.send(`{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[]}}`, id, s.dir)
	if line := editor.until("the session", reply("2")); line["error"] != nil {
		t.Fatalf("the editor can't load it: %s", line[""])
	}

	// What RPC asks for is answered in the editor, and stands in the terminal.
	rpc.send(`{"id":"p","type":"prompt","message":"make it"}`)
	ask := editor.until("the question", func(line map[string]json.RawMessage) bool {
		return text(line["method"]) == "session/request_permission"
	})
	var params struct {
		Options []struct{ OptionID, Kind string }
	}
	if err := json.Unmarshal(ask["params"], &params); err != nil {
		t.Fatal(err)
	}
	for _, o := range params.Options {
		if o.Kind == "allow_once" {
			editor.send(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`, ask["id"], o.OptionID)
			break
		}
	}
	s.WaitText("Made for RPC.")
	rpc.settled(1)
	lines.send(`{"id":"p","type":"prompt","message":"and for JSON?"}`)
	s.WaitText("Said for JSON.")
	lines.settled(2)
	editor.send(`{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"and for the editor?"}]}}`, id)
	editor.until("the end of the editor's prompt", reply("3"))
	s.WaitText("Said for the editor.")
	s.send("the end")
	s.WaitText("Last words.")
	for _, m := range []*machine{rpc, lines, editor} {
		m.settled(4)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "made")); err != nil {
		t.Error(err)
	}

	from := uint64(0) // of the first event that all were told
	for _, m := range []*machine{rpc, lines, editor} {
		var first seen
		if err := json.Unmarshal(m.raw[0].Event, &first); err != nil {
			t.Fatal(err)
		}
		from = max(from, first.Seq)
	}
	want, n := rpc.digest(at.Data.Epoch, from)
	if n < 40 {
		t.Errorf("only %d events are compared", n)
	}
	for name, m := range map[string]*machine{"the JSON client": lines, "the editor": editor} {
		if got, k := m.digest(at.Data.Epoch, from); got != want {
			t.Errorf("%s was told %d events with the hash %s, RPC %d with %s", name, k, got, n, want)
		}
	}
}
