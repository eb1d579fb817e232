package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/todo"
)

const canary = "cNry-8fQ2zVw7Kp1LmX0"

var placeholder = regexp.MustCompile(`SECRET\.[A-Z_]+\.[a-z0-9]{10}`)

func TestSecretsStayHome(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		vault, err := secret.New(secret.Options{Env: []string{"SERVICE_TOKEN=" + canary}})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		got := map[string]string{}
		var r *rig
		keep := func(name string, effects tool.Effects, err error) *tool.Tool {
			return simple(name, effects, func(_ context.Context, c tool.Call, path string) (*tool.Result, error) {
				mu.Lock()
				got[name] = path
				mu.Unlock()
				c.Update(tool.Result{Content: []llm.Block{llm.Text{Text: "partly " + canary}}, Details: json.RawMessage(`{"d":"` + canary + `"}`)})
				if name == "use" {
					r.Steer(llm.UserText("steer " + canary))
					r.FollowUp(llm.UserText("follow " + canary))
				}
				return tool.Text("out " + canary).WithDetails(map[string]string{"d": "in " + canary}), err
			})
		}
		use := func(id, name string) llmtest.Turn {
			return llmtest.Turn{Reply: func(q *llm.Request) []llm.Event {
				p := placeholder.FindString(strings.Join(said(q.Messages), "\n"))
				return llmtest.Call(id, name, `{"path":"curl -H `+p+`"}`)
			}}
		}
		r = start(t, f, func(r *rig, o *session.Options) {
			o.Secrets, o.Compaction = vault, small()
			o.Compaction.KeepRecentTokens = 1
			o.Request.System = "The token is " + canary
			o.Preface = []llm.Message{llm.UserText("env: " + canary)}
			r.assistant(o, say("Title "+canary), say("SUMMARY "+canary), say("SUMMARY"), say("short "+canary), say("BRANCH "+canary))
			o.Tasks = handletest.Tasks{Phases: &[]todo.Phase{{Name: canary, Tasks: []todo.Task{{Content: "use " + canary, Status: "pending"}}}}}
			o.Tools = []*tool.Tool{
				keep("use", tool.Executes, nil), keep("fetch", tool.Network, nil), keep("fails", tool.Executes, errors.New("failed with "+canary)),
				simple("panics", tool.Reads, func(context.Context, tool.Call, string) (*tool.Result, error) { panic("oh " + canary) }),
				echo("denied", tool.Executes), echo("ends", tool.Executes),
			}
			handletest.On(o).OnBeginTurn = func(string, string) error { return errors.New("no journal for " + canary) }
			handletest.On(o).OnAuthorize = func(_ context.Context, t *tool.Tool, c tool.Call) error {
				switch t.Name {
				case "denied":
					return fmt.Errorf("not allowed: %s", c.Arguments)
				case "ends":
					return fmt.Errorf("stop at %s: %w", c.Arguments, tool.ErrAbort)
				}
				return nil
			}
		}, use("c1", "use"), use("c2", "fetch"), use("c3", "fails"), use("c4", "panics"), use("c5", "denied"), say("fine: "+canary), say("done"),
			refused(llm.ErrInvalidRequest, "what is "+canary),
			use("c6", "ends"),
			say("Handoff "+canary))
		r.prompt("use "+canary+" please", agent.ReasonDone)
		waitFor(t, func() bool { return r.Log().Title() != "" })
		outs := []agent.Outcome{r.prompt("fail", agent.ReasonError), r.prompt("end", agent.ReasonAborted)}
		if !errors.Is(outs[1].Err, tool.ErrAbort) {
			t.Errorf("it is not told why the run ended: %v", outs[1].Err)
		}
		if err := r.Pin("pinned " + canary); err != nil {
			t.Fatal(err)
		}
		if err := r.Compact(t.Context(), "mind "+canary); err != nil {
			t.Fatal(err)
		}
		doc, err := r.Handoff(t.Context(), "go on with "+canary)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Navigate(t.Context(), r.Log().Nodes()[0].ID, session.Navigation{Summarize: true, Instructions: "of " + canary}); err != nil {
			t.Fatal(err)
		}
		r.SetTitle("about " + canary)
		r.Close()

		if !strings.Contains(got["use"], canary) || !strings.Contains(got["fails"], canary) {
			t.Errorf("tools of the workspace got %q", got)
		}
		if strings.Contains(got["fetch"], canary) || !placeholder.MatchString(got["fetch"]) {
			t.Errorf("the network got %q", got["fetch"])
		}
		for i, raw := range append(r.srv.Raw(), r.small.Raw()...) {
			if strings.Contains(string(raw.Body), canary) || strings.Contains(fmt.Sprint(raw.Header), canary) {
				t.Errorf("request %d has it: %s", i+1, raw.Body)
			}
		}
		text, err := os.ReadFile(r.path)
		if err != nil || strings.Contains(string(text), canary) {
			t.Errorf("the transcript has it: %v", err)
		}
		for _, e := range r.events {
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if e.Type == agent.MessageUpdate && e.Stream.Type.Delta() {
				continue // what the model makes up itself, while it comes
			}
			if strings.Contains(string(line), canary) {
				t.Errorf("an event has it: %s", line)
			}
		}
		for _, o := range outs {
			if strings.Contains(o.Err.Error(), canary) {
				t.Errorf("an outcome has it: %v", o.Err)
			}
		}
		if all := strings.Join(r.warned(), "\n") + doc; strings.Contains(all, canary) {
			t.Errorf("a warning or a document has it: %s", all)
		}
	})
}
