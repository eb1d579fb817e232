package story_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/tool/permit"
)

// What changes a file is asked about first; yes is for this one call.
func TestAllowOnce(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("write", `{"path":"one.txt","content":"first\n"}`),
		call("write", `{"path":"two.txt","content":"second\n"}`),
		say("Both are written."),
	})
	s.send("write two files")
	s.WaitText("Write  one.txt")
	s.WaitText("Yes")
	s.Golden("approval", s.same())
	if _, err := os.Stat(filepath.Join(s.dir, "one.txt")); err == nil {
		t.Error("the file was written before anybody said yes")
	}
	s.answer("y")
	s.WaitText("two.txt")
	s.WaitText("Yes")
	if got := s.read("one.txt"); got != "first\n" {
		t.Errorf("one.txt is %q", got)
	}
	s.answer("y")
	s.WaitText("Both are written.")
	if got := s.read("two.txt"); got != "second\n" {
		t.Errorf("two.txt is %q", got)
	}
}

// What is always allowed in this session is not asked about a second time.
func TestAllowForSession(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("write", `{"path":"one.txt","content":"first\n"}`),
		call("write", `{"path":"one.txt","content":"second\n"}`),
		say("Written twice."),
	})
	s.send("write it twice")
	s.WaitText("Yes")
	s.answer("a")
	s.WaitText("→ 2 Allow edits to `one.txt` in this session")
	s.answer("enter")
	s.WaitText("Written twice.")
	if got := s.read("one.txt"); got != "second\n" {
		t.Errorf("one.txt is %q", got)
	}
}

// A no says why, and the model reads it.
func TestDenyWithNote(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{
		call("write", `{"path":"one.txt","content":"first\n"}`),
		say("I leave it alone."),
	})
	s.send("write a file")
	s.WaitText("Yes")
	s.answer("tab")
	s.WaitText("what to do instead")
	s.Type("use the other folder\n")
	s.WaitText("I leave it alone.")
	if _, err := os.Stat(filepath.Join(s.dir, "one.txt")); err == nil {
		t.Error("the file was written")
	}
	if heard := s.heard(-1); !strings.Contains(heard, "use the other folder") {
		t.Errorf("the model does not know why:\n%s", heard)
	}
}

// Esc in a question runs nothing and stops the work.
func TestStopInQuestion(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{call("write", `{"path":"one.txt","content":"first\n"}`)})
	s.send("write a file")
	s.WaitText("Yes")
	s.Press("esc")
	s.WaitText("Ask anything")
	s.WaitGone("Working")
	if _, err := os.Stat(filepath.Join(s.dir, "one.txt")); err == nil {
		t.Error("the file was written")
	}
	if n := len(s.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

// Every answer is one line, and says what is allowed, where and how long. The question mark
// opens and closes the fine print of the one that is selected.
func TestAnswersAreOneLine(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	deep := "internal/platform/permission/a-rather-long-name-of-a-folder"
	s := begin(t, []llmtest.Turn{
		call("bash", `{"command":"go vet ./... && go build -o `+deep+`/tool ./cmd/tool && go test -run TestOneThingOnly ./internal/platform/permission"}`),
		call("write", `{"path":"`+deep+`/handler_of_requests.go","content":"package x\n"}`),
		call("fetch", `{"url":"https://documentation.of.a.service.with.a.long.name.example.com/index.html"}`),
		say("As you like."),
	}, func(o *setting) { o.Width, o.Height, o.config = 80, 30, "permissions: {grantDays: 90}\n" })
	s.send("go")
	oneLine := func(title string, want ...string) {
		t.Helper()
		s.WaitText(title)
		s.answer("up", "a", "right")
		s.WaitText("for 90 days")
		_, shown, _ := strings.Cut(s.Text(), "1 "+permit.Yes)
		rows := strings.Split("1 "+permit.Yes+shown, "\n")
		var answers []string
		for i, row := range rows {
			text := strings.TrimSpace(strings.TrimPrefix(row, "→"))
			if n := len(answers) + 1; strings.HasPrefix(text, fmt.Sprint(n, " ")) {
				answers = append(answers, strings.TrimSpace(text[1:]))
				if n > 1 && !strings.Contains(rows[i-1], answers[n-2]) {
					t.Errorf("answer %d is not one line:\n%s", n-1, s.Text())
				}
			}
		}
		if diff := cmp.Diff(slices.Concat([]string{permit.Yes}, want, []string{permit.No, permit.Instead}), answers); diff != "" {
			t.Errorf("%s\n%s", diff, s.Text())
		}
		if strings.Contains(s.Text(), "Holds") {
			t.Errorf("the fine print is open:\n%s", s.Text())
		}
		s.answer("?")
		s.WaitText("(permissions.grantDays) or until you")
		s.WaitText("Rule   ")
		s.answer("?")
		s.WaitGone("Holds")
		s.answer("n")
	}
	oneLine("Run this command?", "Allow `go vet ./... && go …latform/permission` in this project for 90 days")
	oneLine(
		"Change this file?", "Allow edits to `internal/platf…of_requests.go` in this project for 90 days",
		"Allow edits to files in `internal/p…a-folder/` in this session", "Allow edits to all workspace files in this session",
	)
	oneLine(
		"Open this address?", "Allow fetching from `documentatio…example.com` in this project for 90 days",
		"Allow fetching from `*.of.a.servi…example.com` in this session",
	)
	s.WaitText("As you like.")
}
