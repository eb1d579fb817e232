package shell_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/shell"
)

// startUp are files with which a shell makes an alias, a function, and noise.
var startUp = map[string]struct{ file, text string }{
	"bash": {".bashrc", "echo noise; echo noise >&2\nshopt -s expand_aliases\nalias greet='echo hello from bash'\n"},
	"zsh":  {".zshrc", "echo noise; echo noise >&2\nalias greet='echo hello from zsh'\n"},
	"fish": {".config/fish/config.fish", "echo noise; echo noise >&2\nalias greet='echo hello from fish'\n"},
}

// A person's command runs in their own shell, with what their start-up files define; the
// model's commands do not.
func TestPersonShell(t *testing.T) {
	for name, rc := range startUp {
		t.Run(name, func(t *testing.T) {
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skip(name + " is not installed")
			}
			dir, home := tempDir(t), tempDir(t)
			file := filepath.Join(home, rc.file)
			for _, d := range []string{filepath.Dir(file), filepath.Join(dir, "it's a \\ folder")} {
				if err := os.MkdirAll(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(file, []byte(rc.text), 0o644); err != nil {
				t.Fatal(err)
			}
			s := open(t, shell.Options{
				Shell: "sh", Own: path, Dir: dir, Snapshot: true,
				Env: map[string]string{"HOME": home, "ZDOTDIR": home, "XDG_CONFIG_HOME": home + "/.config", "XDG_DATA_HOME": home},
			})
			if o := own(t, s, "greet"); o.Output.Text != "hello from "+name+"\n" || o.ExitCode != 0 {
				t.Errorf("%+v", o)
			}
			if o := own(t, s, "echo out; echo err >&2; sh -c 'exit 7'"); o.Output.Text != "out\nerr\n" || o.ExitCode != 7 {
				t.Errorf("%+v", o)
			}
			if o := own(t, s, `echo "it's" 'a \ back' # slash`); !strings.HasPrefix(o.Output.Text, `it's a \ back`) {
				t.Errorf("quotes: %+v", o)
			}
			if o := own(t, s, "echo one\necho two"); o.Output.Text != "one\ntwo\n" {
				t.Errorf("two lines: %+v", o)
			}
			if o := own(t, s, `cd "it's a \\ folder"; cat`); o.Dir != filepath.Join(dir, `it's a \ folder`) {
				t.Errorf("cd: %+v", o)
			}
			says(t, s, "pwd; cd ..", filepath.Join(dir, `it's a \ folder`)+"\n")
			if o := own(t, s, "cd /; exit 3"); o.ExitCode != 3 || o.Dir != dir {
				t.Errorf("exit: %+v", o)
			}
			if o := own(t, s, "if"); o.ExitCode == 0 || o.Output.Text == "" {
				t.Errorf("no syntax error: %+v", o)
			}
			if o := own(t, s, "sleep 1000 & echo begun"); !strings.Contains(o.Output.Text, "begun") { // it does not wait
				t.Errorf("background: %+v", o)
			}
			ctx, stop := context.WithCancel(t.Context())
			o, err := s.Own(ctx, "echo begun; cat /dev/zero > /dev/null", func(text string) {
				if strings.Contains(text, "begun") {
					stop()
				}
			})
			if err != nil || !o.Cancelled || o.ExitCode != -1 {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
}

// Start-up files that end the shell show what they say.
func TestPersonShellDoesNotStart(t *testing.T) {
	path, err := exec.LookPath("zsh")
	if err != nil {
		t.Skip("zsh is not installed")
	}
	home := tempDir(t)
	if err := os.WriteFile(filepath.Join(home, ".zshrc"), []byte("echo no zsh today >&2; exit 4\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, shell.Options{Own: path, Env: map[string]string{"HOME": home, "ZDOTDIR": home}})
	if o := own(t, s, "echo hello"); o.ExitCode != 4 || o.Output.Text != "no zsh today\n" {
		t.Errorf("%+v", o)
	}
}

func TestPersonOfVariable(t *testing.T) {
	for _, value := range []string{"", "zsh", "/bin/sh", "/nowhere/zsh", "/bin/false", "/usr/bin/tcsh"} {
		if got := shell.Person(value); got != "" {
			t.Errorf("%q gives %s", value, got)
		}
	}
	if path, err := exec.LookPath("bash"); err == nil && filepath.IsAbs(path) && shell.Person(path) != path {
		t.Errorf("%s gives %q", path, shell.Person(path))
	}
	if _, err := shell.Open(shell.Options{Dir: tempDir(t), Own: "/usr/bin/tcsh"}); err == nil || !strings.Contains(err.Error(), "zsh") {
		t.Errorf("tcsh: %v", err)
	}
}
