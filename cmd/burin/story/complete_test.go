package story_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/robot"
	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
)

// aSession writes the file of a session of a folder.
func aSession(t *testing.T, home, dir, id, title string) {
	t.Helper()
	folder := "--" + strings.ReplaceAll(strings.Trim(dir, "/"), "/", "-") + "--"
	write(t, filepath.Join(home, "sessions", folder, "2026-01-02T03-04-05-678Z_"+id+".jsonl"), fmt.Sprintf(
		`{"type":"session","version":3,"id":%q,"timestamp":"2026-01-02T03:04:05.678Z","cwd":%q,"title":%q}
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-02T03:04:06Z","message":{"role":"user","content":"hello","timestamp":1}}
{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-02T03:04:07Z","message":{"role":"assistant","content":[{"type":"text","text":"hi"}],"timestamp":2}}
`, id, dir, title))
}

// shellStory is a person at a shell that completes burin.
func shellStory(t *testing.T, shell string, args ...string) *story {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		t.Skip("there is no " + shell)
	}
	user := t.TempDir()
	home, dir := filepath.Join(user, "home"), filepath.Join(user, "project")
	aSession(t, home, dir, "0aa1", "Fix the parser")
	aSession(t, home, dir, "0bb2", "Write the docs")
	write(t, filepath.Join(home, "config.yml"), "theme: {dark: dusk}\n")
	write(t, filepath.Join(home, "commands", "deploy.md"), "Deploy it\n")
	write(t, filepath.Join(dir, "source", "main.go"), "package main\n")
	write(t, filepath.Join(user, "bin", "burin"), "#!/bin/sh\nexec "+program(t)+` "$@"`+"\n")
	if err := os.Chmod(filepath.Join(user, "bin", "burin"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := robot.Options{Timeout: waitTime, Dir: dir, Width: 100, Height: 30, Env: []string{
		"HOME=" + user, "BURIN_HOME=" + home, "BURIN_NO_KEYRING=1", "PATH=" + filepath.Join(user, "bin") + ":" + os.Getenv("PATH"),
		"PS1=SHELL$ ", "HISTFILE=", "INPUTRC=/dev/null",
	}}
	s := &story{t: t, dir: dir, home: home}
	s.Robot = robot.Start(t, o, shell, args...)
	return s
}

// line waits until the line that is written is so.
func (s *story) line(want string) {
	s.t.Helper()
	s.WaitFor("the line "+want, func(t *vt.Terminal) bool {
		return strings.HasSuffix(strings.TrimRight(t.Lines()[t.Cursor().Y], " "), strings.TrimRight(want, " "))
	})
}

// In a real bash, without the package bash-completion, Tab lists sessions with their titles, and
// completes settings, themes, commands and files.
func TestBashCompletes(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := shellStory(t, "bash", "--norc", "--noprofile", "-i")
	s.WaitText("SHELL$")
	s.send("complete -r; source <(burin completion bash); echo rea''dy")
	s.WaitText("ready")
	s.Type("burin resume 0\t\t")
	s.WaitText("0aa1")
	s.WaitText("Fix the parser")
	s.WaitText("Write the docs")
	s.Type("b\t")
	s.line("burin resume 0bb2")
	for typed, want := range map[string]string{
		"burin sessions show 0a\t":                      "burin sessions show 0aa1",
		"burin config set theme.da\tfjo\t":              "burin config set theme.dark fjord",
		"burin -p /dep\t":                               "burin -p /deploy",
		"burin -p /skill:deep\t":                        "burin -p /skill:deep-interview",
		"burin -p 'look at' @sou\tma\t":                 "burin -p 'look at' @source/main.go",
		"burin --approval=auto\t":                       "burin --approval=auto-edit",
		"burin -p --model=anthropic/claude-opus-4-5-\t": "burin -p --model=anthropic/claude-opus-4-5-20251101",
	} {
		s.Press("ctrl+u")
		s.line("SHELL$")
		s.Type(typed)
		s.line(want)
	}
}

// zsh and fish show the same.
func TestOtherShellsComplete(t *testing.T) {
	t.Parallel()
	for shell, start := range map[string]string{
		"zsh":  "autoload -Uz compinit; compinit -u -D; source <(burin completion zsh)",
		"fish": "burin completion fish | source",
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			args := map[string][]string{"zsh": {"-f", "-i"}, "fish": {"--no-config", "-i"}}
			s := shellStory(t, shell, args[shell]...)
			s.send(start + "; echo rea''dy")
			s.WaitText("ready")
			<-time.After(100 * time.Millisecond) // fish takes what comes while it starts for a paste
			s.Type("burin -p /dep\t")
			s.line("burin -p /deploy")
			s.Type("; burin resume 0\t")
			s.WaitText("Fix the parser")
			s.WaitText("0bb2")
		})
	}
}
