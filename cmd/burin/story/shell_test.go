package story_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A command after "!" is the person's own and the model reads it; after "!!" it does
// not.
func TestShell(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("I see.")})
	s.send("!echo o$((40+2))pen")
	s.WaitText("o42pen")
	s.WaitText("● You  echo o")
	s.WaitGone("esc stops")
	s.send("!!echo p$((40+3))rivate")
	s.WaitText("p43rivate")
	s.WaitText("● Your own command")
	s.WaitGone("esc stops")
	if n := len(s.model.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	s.send("what did I do?")
	s.WaitText("I see.")
	heard := s.heard(-1)
	if !strings.Contains(heard, "o42pen") || strings.Contains(heard, "p43rivate") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// Who asks something while a command of one's own runs gets the answer after it.
func TestPromptDuringShell(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("I have seen it.")})
	s.send("!until [ -e stop ]; do sleep 0.05; done; echo it was s$((40+2))pped")
	s.WaitText("esc stops")
	s.send("have you sen that?")
	s.WaitText("have you sen that?")
	s.WaitText("Ask anything")
	s.Press("alt+up") // it can be changed while it waits
	s.WaitText("› have you sen that?")
	s.Press("ctrl+u")
	s.send("have you seen that?")
	s.WaitText("have you seen that?")
	s.WaitText("Ask anything")
	write(t, filepath.Join(s.dir, "stop"), "")
	s.WaitText("I have seen it.")
	if heard := s.heard(-1); !strings.Contains(heard, "it was s42pped") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// A command cannot write past burin to the terminal.
func TestCommandWithoutTerminal(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Nothing happened.")})
	s.send(`!(printf 'WIPED\033[2J' >/dev/tty) 2>/dev/null || echo no t$((40+2))rminal`)
	s.WaitText("no t42rminal")
	s.WaitText("● You")
	if all := s.all(); strings.Count(all, "WIPED") != 1 || !strings.Contains(all, "burin") {
		t.Errorf("the screen was written:\n%s", all)
	}
}

// What a command writes cannot move the cursor, clear the screen or change the title.
func TestCorruptingOutput(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{say("Nothing happened.")})
	s.send(`!printf 'be\033[2J\033[1;1Hfore\033]0;evil\007\033[?1049h\033[41m after\n'`)
	s.WaitText("● You")
	s.WaitText("after")
	s.send("go on")
	s.WaitText("Nothing happened.")
	s.sees("burin", "before")
	s.look(func(title string, alternate bool) {
		if alternate || strings.Contains(title, "evil") {
			t.Errorf("alternate %v, title %q", alternate, title)
		}
	})
}

// ownShell writes a bash that says who it is, and gives its path.
func ownShell(t *testing.T, who string) string {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	path := filepath.Join(t.TempDir(), "bash")
	write(t, path, "#!/bin/sh\nMINE="+who+" exec "+bash+" \"$@\"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// A person's commands run in the shell of $SHELL, with the aliases of its start-up files;
// the model's do not.
func TestOwnShell(t *testing.T) {
	t.Parallel()
	path := ownShell(t, "person")
	s := begin(t, []llmtest.Turn{call("bash", `{"command":"echo \"model: [$MINE]\""}`), say("I see.")}, func(o *setting) {
		o.Env = append(o.Env, "SHELL="+path)
		o.files = map[string]string{"../.bashrc": "alias greet='echo hello from my $MINE shell'\n"}
		o.args = []string{"--approval", "full"}
	})
	s.send("!greet")
	s.WaitText("hello from my person shell")
	s.WaitGone("esc stops")
	s.send("!mkdir deep && cd deep")
	s.WaitText("● You  mkdir")
	s.WaitGone("esc stops")
	s.send("!pwd | sed 's/.*project/in project/'")
	s.WaitText("in project/deep")
	s.WaitGone("esc stops")
	s.send("who are you?")
	s.WaitText("I see.")
	if heard := s.heard(-1); !strings.Contains(heard, "model: []") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// userShellPath names another shell than $SHELL, and shellPath is for both.
func TestOwnShellOfSettings(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	mine, set := ownShell(t, "person"), ownShell(t, "setting")
	for _, c := range []struct{ config, want string }{
		{"", "m42 person"},
		{"userShellPath: " + set, "m42 setting"},
		{"shellPath: " + set, "m42 setting"},
		{"shellPath: " + set + "\nuserShellPath: builtin", "m42 ."},
	} {
		s := begin(t, nil, func(o *setting) {
			o.Env, o.config = append(o.Env, "SHELL="+mine), c.config+"\n"
		})
		s.send("!echo m$((40+2)) $MINE.")
		s.WaitText(c.want)
	}
}

// zsh and fish run a person's commands with what their start-up files define.
func TestOwnShellOfAnotherKind(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{"zsh": "../.zshrc", "fish": "../.config/fish/config.fish"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Logf("%s is not installed", name)
			continue
		}
		s := begin(t, []llmtest.Turn{say("I see.")}, func(o *setting) {
			o.Env = append(o.Env, "SHELL="+path)
			o.files = map[string]string{file: "echo noise\nalias greet='echo hello from " + name + "'\n"}
		})
		s.send("!greet; cd ..")
		s.WaitText("hello from " + name)
		s.WaitGone("esc stops")
		s.send("what did I do?")
		s.WaitText("I see.")
		if heard := s.heard(-1); !strings.Contains(heard, "hello from "+name) || strings.Contains(heard, "noise") {
			t.Errorf("the model read:\n%s", heard)
		}
	}
}
