package shell_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/platform/shell"
)

// variables are the variables of a command that are not the shell's own.
func variables(t *testing.T, s *shell.Shells, c shell.Command) map[string]string {
	t.Helper()
	c.Line = "env"
	vars := map[string]string{}
	for line := range strings.Lines(run(t, s, c).Output.Text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		vars[name] = value
	}
	return vars
}

func TestEnvironment(t *testing.T) {
	inherited := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/home/u", "PAGER=less", "EDITOR=vi", "LANG=C",
		"ANTHROPIC_API_KEY=secret", "OPENAI_API_KEY=secret", "XAI_OAUTH_TOKEN=secret", "AWS_BEARER_TOKEN_BEDROCK=secret",
		"GITHUB_TOKEN=mine", "STRIPE_API_KEY=mine", "AWS_SECRET_ACCESS_KEY=mine", "GEMINI_MODEL=mine",
		"BURIN_HOME=x", "BASH_ENV=/tmp/x", "ENV=/tmp/x", "CDPATH=/", "PS1=$", "BASH_FUNC_ls%%=() { echo mine; }", "SHELLOPTS=xtrace",
	}
	eachKind(t, func(t *testing.T, kind string) {
		s := open(t, shell.Options{Shell: kind, Environ: inherited, Env: map[string]string{"MANPAGER": "more", "TERM": "vt100", "OPENAI_API_KEY": "given"}})
		got := variables(t, s, shell.Command{Env: map[string]string{"TERM": "xterm", "EXTRA": "1"}})
		want := map[string]string{
			"HOME": "/home/u", "LANG": "C", "PAGER": "cat", "EDITOR": "true", "MANPAGER": "more", "TERM": "xterm", "EXTRA": "1",
			"CI": "1", "NO_COLOR": "1", "AWS_PAGER": "", "GIT_TERMINAL_PROMPT": "0", "npm_config_yes": "true", "GPG_TTY": "not a tty",
			"OPENAI_API_KEY": "given", "GITHUB_TOKEN": "mine", "STRIPE_API_KEY": "mine", "AWS_SECRET_ACCESS_KEY": "mine", "GEMINI_MODEL": "mine",
		}
		for name, value := range want {
			if v, ok := got[name]; !ok || v != value {
				t.Errorf("%s is %q (set: %v), want %q", name, v, ok, value)
			}
		}
		for _, name := range []string{
			"ANTHROPIC_API_KEY", "XAI_OAUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "BURIN_HOME", "BASH_ENV", "ENV", "CDPATH", "PS1",
			"BASH_FUNC_ls%%", "SHELLOPTS", "_burin",
		} {
			if v, ok := got[name]; ok {
				t.Errorf("%s is set to %q", name, v)
			}
		}
		// The same in a shell of its own.
		own := variables(t, s, shell.Command{Env: map[string]string{"TERM": "xterm", "EXTRA": "1"}, TTY: true})
		for _, vars := range []map[string]string{got, own} {
			for _, name := range []string{"_", "SHLVL", "OLDPWD"} {
				delete(vars, name)
			}
		}
		if diff := cmp.Diff(got, own); diff != "" {
			t.Error(diff)
		}
	})
}

func TestStripAndCI(t *testing.T) {
	s := open(t, shell.Options{
		Environ: []string{"PATH=" + os.Getenv("PATH"), "OPENAI_API_KEY=a", "MY_TOKEN=b", "OTHER_TOKEN=c", "CLOUDFLARE_AI_GATEWAY_API_KEY=d", "CLAUDE_CODE_CLIENT_KEY=e", "BURIN_SERVER_TOKEN=f", "BURIN_SESSION_PASSPHRASE=g", "PI_BASH_NO_CI=1"},
		Strip:   []string{"MY_TOKEN"},
	})
	got := variables(t, s, shell.Command{})
	if got["OTHER_TOKEN"] != "c" {
		t.Error("a variable is gone that is not in the list")
	}
	for _, name := range []string{"MY_TOKEN", "OPENAI_API_KEY", "CLOUDFLARE_AI_GATEWAY_API_KEY", "CLAUDE_CODE_CLIENT_KEY", "BURIN_SERVER_TOKEN", "BURIN_SESSION_PASSPHRASE", "CI"} {
		if v, ok := got[name]; ok {
			t.Errorf("%s is %q", name, v)
		}
	}
}

// What a shell prints of its variables is read back exactly.
func TestExports(t *testing.T) {
	shells := [][]string{}
	for _, sh := range [][]string{{"bash"}, {"dash"}, {"bash", "--posix"}, {"busybox", "sh"}, {"mksh"}} {
		if path, err := exec.LookPath(sh[0]); err == nil {
			shells = append(shells, append([]string{path}, sh[1:]...))
		}
	}
	value := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]*`), rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	}))
	var want []string
	for i := range 500 {
		want = append(want, fmt.Sprintf("V%d=%s", i, strings.ReplaceAll(value.Example(i), "\x00", "")))
	}
	for _, sh := range shells {
		cmd := exec.Command(sh[0], append(sh[1:], "-c", "export -p")...)
		cmd.Env = append(slices.Clone(want), "PATH=/bin")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		got, err := shell.ParseExports(string(out))
		if err != nil {
			t.Fatalf("%s: %v", sh, err)
		}
		for _, v := range want {
			name, _, _ := strings.Cut(v, "=")
			i := slices.IndexFunc(got, func(v string) bool { return strings.HasPrefix(v, name+"=") })
			if i < 0 || got[i] != v {
				t.Errorf("%s: %q is not among %d variables (%d)", sh, v, len(got), i)
			}
		}
	}
}

func FuzzExports(f *testing.F) {
	for _, s := range []string{
		"", "declare -x A=\"b\"\n", "export A='b'\n", "export A='it'\"'\"'s'\n", "declare -x A\n", "declare -x A=$'\\001'\n",
		"export A=$(id)\n", "export A=\"$B\"\n", "id\n", "declare -x A=(1 2)\n", "export -p\n", "declare -x A=\"\n", "export A=~\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		env, err := shell.ParseExports(text)
		for _, v := range env {
			if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
				t.Fatalf("%q gives %q", text, v)
			}
		}
		if err != nil && env != nil {
			t.Fatal("both a result and an error")
		}
	})
}

func TestStartup(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	home := tempDir(t)
	rc := `echo noise; echo noise >&2
case $- in *i*) ;; *) return;; esac
export FROM_RC=1
HIDDEN=1
alias greet='echo hello' rm='rm -i' ll='_list'
shopt -s nullglob extglob
set -o noclobber
twice() { _helper "$1"; _helper "it's $1"; }
_helper() { echo "<$1>"; }
_list() { echo listed; }
_completion() { echo never; }
`
	if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte(rc), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, shell.Options{Shell: "bash", Snapshot: true, Environ: append(os.Environ(), "HOME="+home)})
	s.Warm()
	line := `greet ä; twice x; ll; echo *.none; touch f; rm f; ls; type -t _completion; echo ${HIDDEN-unset}`
	want := "hello ä\n<x>\n<it's x>\nlisted\n\nunset\n"
	says(t, s, line, want)
	if o := run(t, s, shell.Command{Line: line, TTY: true}); o.Output.Text != want {
		t.Errorf("in a shell of its own: %q", o.Output.Text)
	}
	says(t, s, "exit 0", "")
	says(t, s, line, want)
}

// Start-up files that hang or fail cost a limited time, and nothing else.
func TestStartupFails(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip(err)
	}
	for name, rc := range map[string]string{
		"hangs": "sleep 600", "waits": "read x </dev/tty; read x; exec sleep 600", "ends": "exit 3", "is no script": "if (",
		"is long": "f() { : '" + strings.Repeat("x", 70<<10) + "'; }",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := tempDir(t)
			if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte(rc), 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, shell.Options{Shell: "bash", Snapshot: true, Environ: append(os.Environ(), "HOME="+home)})
			s.SetStartupTime(500 * time.Millisecond)
			begun := time.Now()
			says(t, s, "echo ok; type -t f; true", "ok\n")
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
	t.Run("does not run without a command", func(t *testing.T) {
		s := open(t, shell.Options{Shell: "bash", Snapshot: true})
		if s.Warm(); s.Starts() {
			t.Error("it is being read")
		}
		plain := open(t, shell.Options{Shell: "bash"})
		if plain.Warm(); !plain.Starts() {
			t.Error("a shell without start-up files does not start")
		}
	})
	for name, rc := range map[string]string{
		"puts away its lock": `touch ~/lock; (trap 'rm ~/lock; exit' TERM; touch ~/begun; while :; do sleep 0.02; done)`,
		"comes to its end":   `touch ~/lock; (touch ~/begun; exec sleep 600); rm ~/lock; sleep 600`,
	} {
		t.Run(name, func(t *testing.T) {
			home := tempDir(t)
			if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte(rc), 0o600); err != nil {
				t.Fatal(err)
			}
			s := open(t, shell.Options{Shell: "bash", Snapshot: true, Environ: append(os.Environ(), "HOME="+home)})
			ended := make(chan error)
			go func() {
				_, err := s.Run(context.Background(), shell.Command{Line: "true"}, nil)
				ended <- err
			}()
			eventually(t, "the start-up files have begun", func() bool {
				_, err := os.Stat(filepath.Join(home, "begun"))
				return err == nil
			})
			begun := time.Now()
			s.Close()
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("Close took %s", took)
			}
			if err := <-ended; err == nil {
				t.Error("the command ran")
			}
			if _, err := os.Stat(filepath.Join(home, "lock")); err == nil {
				t.Error("the lock is still there")
			}
		})
	}
	t.Run("comes to its end behind a command", func(t *testing.T) {
		home := tempDir(t)
		goOn := filepath.Join(home, "go_on")
		rc := `touch ~/lock; until [ -e ~/go_on ]; do sleep 0.02; done; rm ~/lock`
		if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte(rc), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, shell.Options{Shell: "bash", Snapshot: true, Environ: append(os.Environ(), "HOME="+home)})
		s.SetStartupTime(100 * time.Millisecond)
		says(t, s, "echo ok", "ok\n")
		if err := os.WriteFile(goOn, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for begun := time.Now(); ; <-time.After(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(home, "lock")); err != nil {
				break
			}
			if time.Since(begun) > 30*time.Second {
				t.Fatal("the start-up files were killed: their lock is still there")
			}
		}
	})
	t.Run("is waited for no longer than the caller does", func(t *testing.T) {
		home := tempDir(t)
		if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte("sleep 600"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, shell.Options{Shell: "bash", Snapshot: true, Environ: append(os.Environ(), "HOME="+home)})
		s.SetStartupTime(time.Minute)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		if o, err := s.Run(ctx, shell.Command{Line: "echo"}, nil); err == nil {
			t.Errorf("outcome %+v", o)
		}
	})
}
