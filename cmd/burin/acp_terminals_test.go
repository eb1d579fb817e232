//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// editorTerminals are the terminals of an editor: real ones, in which it runs what it is asked to.
type editorTerminals struct {
	t       *testing.T
	env     []string
	refuse  bool
	started func(tty *os.File) // a person at the terminal

	mu      sync.Mutex
	tty     *os.File
	process *exec.Cmd
	ended   chan struct{}
	shown   bytes.Buffer
	asked   []string
	answers []string
}

func (e *editorTerminals) answer(method string, params json.RawMessage) (any, error) {
	e.mu.Lock()
	e.asked = append(e.asked, method)
	e.mu.Unlock()
	switch method {
	case proto.MethodTerminalCreate:
		if e.refuse {
			return nil, proto.Errorf(proto.CodeInternal, "no room for a terminal")
		}
		var p proto.TerminalRequest
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		cmd := exec.Command(p.Command, p.Args...)
		cmd.Args[0] = "burin" // the test's binary is burin by this name
		cmd.Dir, cmd.Env = p.CWD, e.env
		tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 20, Cols: 70})
		if err != nil {
			return nil, err
		}
		e.tty, e.process, e.ended = tty, cmd, make(chan struct{})
		e.t.Cleanup(func() { tty.Close() })
		go func() {
			defer close(e.ended)
			buf := make([]byte, 4<<10)
			for {
				n, err := tty.Read(buf)
				e.mu.Lock()
				e.shown.Write(buf[:n])
				if len(e.answers) > 0 && strings.Contains(e.shown.String(), "? ") {
					_, _ = tty.WriteString(e.answers[0])
					e.answers = e.answers[1:]
				}
				e.mu.Unlock()
				if err != nil {
					_ = cmd.Wait()
					return
				}
			}
		}()
		if e.started != nil {
			e.started(tty)
		}
		return proto.TerminalID{TerminalID: "t1"}, nil
	case proto.MethodTerminalWait:
		<-e.ended
		code := e.process.ProcessState.ExitCode()
		if code < 0 {
			killed := "SIGKILL"
			return proto.TerminalExit{Signal: &killed}, nil
		}
		return proto.TerminalExit{ExitCode: &code}, nil
	case proto.MethodTerminalRelease:
		return proto.Empty{}, nil
	}
	return nil, proto.Errorf(proto.CodeMethodNotFound, "no method %s", method)
}

func (e *editorTerminals) done() (asked, shown string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.asked, " "), e.shown.String()
}

func openWithTerminals(t *testing.T, e *editorTerminals, turns []llmtest.Turn, args ...string) (*editorRig, string) {
	t.Helper()
	r := openEditor(t, nil, turns, append([]string{"--approval", "full"}, args...)...)
	e.t, e.env = t, r.env
	r.asked = e.answer
	r.hello(object{"terminal": true})
	return r, r.begin()
}

// A program that needs a person runs in burin's shell and is shown in a terminal of the editor,
// where the person types.
func TestEditorTerminal(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	e := &editorTerminals{answers: []string{"Ada\r"}}
	r, id := openWithTerminals(t, e, []llmtest.Turn{
		{Parts: []llmtest.Part{{Call: "bash", ID: "c1", Args: `{"command":"printf 'Name? '; read name; echo hello, $name; stty size; sleep 0.3","tty":true}`}}},
		{Parts: []llmtest.Part{{Text: "Done."}}},
	})
	r.say(id, "log in")
	if got := r.last(); !strings.Contains(got, "hello, Ada") || !strings.Contains(got, "20 70") {
		t.Errorf("the model reads %s", got)
	}
	<-e.ended
	r.until("the release", func() bool { asked, _ := e.done(); return strings.HasSuffix(asked, proto.MethodTerminalRelease) })
	if _, shown := e.done(); !strings.Contains(shown, "Name? ") || !strings.Contains(shown, "hello, Ada") {
		t.Errorf("the terminal showed %q", shown)
	}
	if !strings.Contains(r.told(), `[{"type":"terminal","terminalId":"t1"}]`) {
		t.Errorf("the call names no terminal:\n%s", r.told())
	}
	for _, u := range r.calls() {
		if u.Update.Status == "" && u.Update.Kind == "tool_call_update" && strings.Contains(string(u.Update.Content), "hello") {
			t.Errorf("text takes the terminal's place while the program runs: %s", u.Update.Content)
		}
	}
}

// Whoever closes the terminal ends the program.
func TestEditorTerminalClosed(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	e := &editorTerminals{}
	r, id := openWithTerminals(t, e, []llmtest.Turn{
		{Parts: []llmtest.Part{{Call: "bash", ID: "c1", Args: `{"command":"printf 'Name? '; read name","tty":true}`}}},
		{Parts: []llmtest.Part{{Text: "As you like."}}},
	})
	e.started = func(*os.File) { _ = e.process.Process.Kill() }
	r.say(id, "log in")
	if got := r.last(); !strings.Contains(got, "Cancelled") {
		t.Errorf("the model reads %s", got)
	}
}

// An editor that opens no terminal after all has the person told where to go, and the program
// stays until it is cancelled.
func TestEditorTerminalRefused(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	e := &editorTerminals{refuse: true}
	r, id := openWithTerminals(t, e, []llmtest.Turn{
		{Parts: []llmtest.Part{{Call: "bash", ID: "c1", Args: `{"command":"read name","tty":true,"timeout":2}`}}},
		{Parts: []llmtest.Part{{Text: "Nobody came."}}},
	})
	r.say(id, "log in")
	r.close()
	if err := <-r.ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	r.ended <- nil
	if got := r.stderr.String(); !strings.Contains(got, "no room for a terminal") || !strings.Contains(got, "burin attach "+id) {
		t.Errorf("the person was told %q", got)
	}
}
