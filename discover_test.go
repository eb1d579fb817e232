package burin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
)

// user gives the process a home folder with settings that lead to a scripted model, and
// moves it into a project.
func user(t *testing.T, script llmtest.Script, settings string) *llmtest.Server {
	t.Helper()
	srv, err := llmtest.Serve(openai.CompletionsServer{}, script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	home := t.TempDir()
	for name, text := range map[string]string{
		"config.yml": "modelRoles: {default: local/m}\n" + settings,
		"models.yml": fmt.Sprintf("providers:\n  local:\n    baseUrl: %s\n    api: openai-completions\n    apiKeyEnv: LOCAL_KEY\n    models:\n      - id: m\n      - id: other\n", srv.URL),
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{"HOME": home, "BURIN_HOME": home, "BURIN_NO_KEYRING": "1", "LOCAL_KEY": "sk-local-1"} {
		t.Setenv(name, value)
	}
	t.Chdir(project(t))
	return srv
}

// With nothing set, a session has the user's settings, the model and the key that they lead
// to, and is kept where burin --resume finds it.
func TestNothingSet(t *testing.T) {
	srv := user(t, llmtest.Script{Turns: []llmtest.Turn{{Parts: []llmtest.Part{{Text: "Yes."}}}, {Parts: []llmtest.Part{{Text: "Still."}}}}},
		"permissions: {deny: ['bash(rm:*)']}\n")
	s, err := burin.New(t.Context(), burin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if out := s.Prompt(t.Context(), llm.UserText("are you there?")); out.Reason != agent.ReasonDone {
		t.Fatal(out.Err)
	}
	rules, err := s.Handle("test", false).Permissions().Rules(t.Context())
	if err != nil || len(rules) != 1 || rules[0].String() != "!bash(rm:*)" {
		t.Errorf("its rules are %v, %v", rules, err)
	}
	path, kept := s.Path()
	before := s.Messages()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	asked := srv.Raw()
	if len(asked) != 1 || asked[0].Header.Get("Authorization") != "Bearer sk-local-1" || !strings.Contains(string(asked[0].Body), `"model":"m"`) {
		t.Errorf("the model was asked %d times, first with %v %s", len(asked), asked[0].Header, asked[0].Body)
	}
	if !kept || !strings.HasPrefix(path, os.Getenv("BURIN_HOME")) {
		t.Fatalf("it is kept in %q, %v", path, kept)
	}
	copied, err := burin.Fork(t.Context(), path, burin.Options{})
	if err != nil || copied == path {
		t.Fatalf("the copy is %q, %v", copied, err)
	}
	known, err := burin.Sessions(t.Context(), ".", burin.Options{})
	if err != nil || len(known) != 2 || known[0].Path != copied || known[1].Path != path {
		t.Errorf("the sessions here: %v, %v", known, err)
	}
	if known, err := burin.Sessions(t.Context(), t.TempDir(), burin.Options{}); err != nil || len(known) != 0 {
		t.Errorf("the sessions elsewhere: %v, %v", known, err)
	}
	s, err = burin.New(t.Context(), burin.Options{Continue: true})
	if err != nil {
		t.Fatal(err)
	}
	if now, _ := s.Path(); now != copied || len(s.Messages()) != len(before) {
		t.Errorf("continued: %q with %d messages", now, len(s.Messages()))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// What is set holds over what is found.
	s, err = burin.New(t.Context(), burin.Options{Resume: path, Select: "local/other"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if out := s.Prompt(t.Context(), llm.UserText("and now?")); out.Reason != agent.ReasonDone {
		t.Fatal(out.Err)
	}
	if body := string(srv.Raw()[1].Body); !strings.Contains(body, `"model":"other"`) || !strings.Contains(body, "are you there?") {
		t.Errorf("then it is asked %s", body)
	}
}

// Alone, nothing of the user's is read, and nothing is kept.
func TestAlone(t *testing.T) {
	user(t, llmtest.Script{}, "unknown: setting\n")
	if _, err := burin.New(t.Context(), burin.Options{}); err == nil || !strings.Contains(err.Error(), "config.yml:2") {
		t.Errorf("with the user's settings: %v", err)
	}
	if _, err := burin.New(t.Context(), burin.Options{Alone: true}); err == nil || !strings.Contains(err.Error(), "needs a model and a client") {
		t.Errorf("alone: %v", err)
	}
	o := burin.Options{Dir: project(t)}
	s, srv := start(t, "anthropic", task(), o)
	if out := s.Prompt(t.Context(), llm.UserText("fix it")); out.Reason == agent.ReasonDone {
		t.Error("a command ran in the mode ask, where nobody can be asked")
	}
	_ = srv
	if path, kept := s.Path(); kept {
		t.Errorf("it is kept in %s", path)
	}
}

// A workspace without a directory has the file tools, and no commands.
func TestWorkspaceWithoutDirectory(t *testing.T) {
	files := burin.NewMemory()
	if err := files.WriteFile("notes/a.txt", []byte("the answer is 42\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	script := llmtest.Script{Turns: []llmtest.Turn{
		{Check: func(r *llm.Request) error {
			for _, tool := range r.Tools {
				if tool.Name == "bash" || strings.HasPrefix(tool.Name, "job") {
					return fmt.Errorf("%s is offered", tool.Name)
				}
			}
			return nil
		}, Parts: []llmtest.Part{{Call: "grep", Args: `{"pattern":"answer"}`}}},
		{Parts: []llmtest.Part{{Call: "write", Args: `{"path":"notes/b.txt","content":"43\n"}`}}},
		{Parts: []llmtest.Part{{Text: "Done."}}},
	}}
	s, srv := start(t, "anthropic", script, burin.Options{Files: files, Approval: "auto-edit"})
	if out := s.Prompt(t.Context(), llm.UserText("look")); out.Reason != agent.ReasonDone {
		t.Fatal(out.Err)
	}
	if err := srv.Err(); err != nil {
		t.Error(err)
	}
	if text, err := files.ReadFile("notes/b.txt"); err != nil || string(text) != "43\n" {
		t.Errorf("b.txt holds %q, %v", text, err)
	}
	if got := string(srv.Raw()[1].Body); !strings.Contains(got, "the answer is 42") {
		t.Errorf("the search found nothing: %s", got)
	}
}

// A session knows the skills that are found, unless it is told not to.
func TestNoSkills(t *testing.T) {
	srv := user(t, llmtest.Script{Turns: []llmtest.Turn{{Parts: []llmtest.Part{{Text: "Yes."}}}, {Parts: []llmtest.Part{{Text: "Yes."}}}}}, "")
	for i, none := range []bool{false, true} {
		s, err := burin.New(t.Context(), burin.Options{NoSkills: none, NoSession: true})
		if err != nil {
			t.Fatal(err)
		}
		s.Prompt(t.Context(), llm.UserText("hello"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(srv.Requests()[i].System, "\n- ralplan: "); told == none {
			t.Errorf("NoSkills %v: told %v", none, told)
		}
	}
}
