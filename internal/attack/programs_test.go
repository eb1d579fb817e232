//go:build linux

package attack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// switching changes the name of a filter, and the file it is for, faster than
// anything can look at the configuration before it runs git.
const switching = `
import os, sys, time
out = sys.argv[1]
end = time.time() + float(sys.argv[2])
good = open('.git/config').read()
n = 0
def put(name, text):
	with open(name + '.new', 'w') as f: f.write(text)
	os.replace(name + '.new', name)
while time.time() < end:
	n += 1
	# The configuration names the filter of this round and of the one before: the file
	# with the attributes always fits it.
	put('.git/config', good + ''.join('[filter "x%d"]\n\tclean = touch %s/ran && cat\n' % (i, out) for i in (n - 1, n)))
	put('.gitattributes', '* filter=x%d\n' % n)
	os.utime('a.txt')
put('.git/config', good)
`

// serve answers with one turn after the other, and then says "done" for a long time.
func serve(t *testing.T, turns ...llmtest.Turn) *llmtest.Server {
	t.Helper()
	script := llmtest.Script{Turns: slices.Clone(turns)}
	for range 50 {
		script.Turns = append(script.Turns, llmtest.Turn{Parts: []llmtest.Part{{Text: "done"}}})
	}
	srv, err := llmtest.Serve(anthropic.Server{}, script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return srv
}

func model(srv *llmtest.Server) []string {
	return []string{"--model", "x/y", "--api", "anthropic-messages", "--base-url", srv.URL}
}

// A confined command changes git's configuration while burin asks git for facts.
func TestProgramsRace(t *testing.T) {
	t.Parallel()
	if !installed("git", "python3") {
		t.Skip("needs git and Python")
	}
	t.Run("print", func(t *testing.T) {
		b := newBox(t)
		b.put(t, "ws/a.txt", "alpha\n")
		b.put(t, "ws/.gitattributes", "")
		b.repository(t)
		b.put(t, "ws/switching.py", switching)
		var stop atomic.Bool
		second := make(chan int)
		go func() { // other prompts in the same folder, while the command runs
			n := 0
			defer func() { second <- n }()
			srv := serve(t)
			if !until(20*time.Second, func() bool { return stop.Load() || strings.Contains(b.content("ws/.gitattributes"), "filter") }) {
				return
			}
			for ; n < 12 && !stop.Load() && b.content("out/ran") == "" && !exists(b.out, "ran"); n++ {
				b.start(t, limits{}, nil, append([]string{"-p", "facts"}, model(srv)...)...)
			}
		}()
		c := b.play(t, limits{}, []step{{name: "switch", command: "python3 switching.py {out} 6"}}, confined...)
		stop.Store(true)
		n := <-second
		if n == 0 && !strings.Contains(strings.Join(c.results, "\n"), "Permission denied") { // a wall ends it before it begins
			t.Fatalf("the configuration was not changed: %s %v", c.err, c.results)
		}
		hole(t, "race", "a confined command switches filters while burin -p collects facts of the repository", ran(b, n))
	})
	t.Run("terminal", func(t *testing.T) {
		b := newBox(t)
		b.put(t, "ws/a.txt", "alpha\n")
		b.put(t, "ws/.gitattributes", "")
		b.repository(t)
		b.put(t, "ws/switching.py", switching)
		turns := []llmtest.Turn{call("bash", fmt.Sprintf(`{"command":"python3 switching.py %s 8","background":true}`, b.out))}
		for i := range 12 {
			turns = append(turns, call("bash", fmt.Sprintf(`{"command":"echo %d > b.txt; sleep 0.3"}`, i)))
		}
		srv := serve(t, turns...)
		b.terminal(t, append(append([]string{"work"}, model(srv)...), confined...), func() bool {
			return len(srv.Raw()) > len(turns) || exists(b.out, "ran")
		})
		if len(srv.Raw()) < 3 {
			t.Fatalf("the terminal's face sent %d requests", len(srv.Raw()))
		}
		hole(t, "race", "a confined command switches filters while the status line is refreshed", ran(b, len(srv.Raw())))
	})
}

func ran(b *box, times int) string {
	if exists(b.out, "ran") {
		return fmt.Sprintf("git ran the command of the workspace outside the sandbox, within %d looks", times)
	}
	return ""
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

func call(name, args string) llmtest.Turn {
	return llmtest.Turn{Parts: []llmtest.Part{{Call: name, Args: args}}, Events: llmtest.Stop(llm.StopToolUse, llm.Usage{Input: 100, Output: 20})}
}

// terminal runs burin's own face in tmux until done.
func (b *box) terminal(t *testing.T, args []string, done func() bool) (screen string) {
	t.Helper()
	if !installed("tmux") {
		t.Skip("needs tmux")
	}
	dir, err := os.MkdirTemp("", "attack-tmux-") // sockets have short names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	tmux := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Env, cmd.Dir = append(b.environment(), "TMUX="), b.ws
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Logf("tmux %v: %v: %s", args[0], err, out)
		}
		return string(out)
	}
	line := quote(the.binary)
	for _, a := range args {
		line += " " + quote(a)
	}
	tmux("new-session", "-d", "-x", "100", "-y", "30", line)
	defer b.quiet()
	defer tmux("kill-server")
	if !until(40*time.Second, done) {
		t.Logf("screen:\n%s", tmux("capture-pane", "-p"))
	}
	return tmux("capture-pane", "-p")
}

// standingConfig is a configuration of a repository that names a program wherever git
// takes one. {c} is the canary of a key.
var standingConfig = []struct{ name, text string }{
	{"fsmonitor", "[core]\n\tfsmonitor = {c}\n"},
	{"hooksPath", "[core]\n\thooksPath = {ws}/h\n"},
	{"filter", "[filter \"x\"]\n\tclean = {c}\n\tsmudge = {c}\n"},
	{"filter process", "[filter \"x\"]\n\tprocess = {c}\n\trequired = true\n"},
	{"filter in an included file", "[include]\n\tpath = {ws}/inc\n"},
	{"filter with a dotted name", "[filter \"x\"]\n\trequired = false\n[filter \"a.b.clean\"]\n\tclean = {c}\n"},
	{"filter with an equals sign", "[filter \"x=y\"]\n\tclean = {c}\n"},
	{"filter of a worktree", "[extensions]\n\tworktreeConfig = true\n"},
	{"external diff", "[diff]\n\texternal = {c}\n"},
	{"text conversion", "[diff \"x\"]\n\ttextconv = {c}\n\tcommand = {c}\n"},
	{"pager", "[core]\n\tpager = {c}\n[pager]\n\tstatus = {c}\n\tlog = {c}\n"},
	{"signatures", "[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {c}\n"},
	{"alias", "[alias]\n\tstatus = !{c}\n\tlog = !{c}\n\trev-parse = !{c}\n\tconfig = !{c}\n"},
	{"ssh", "[core]\n\tsshCommand = {c}\n\tgitProxy = {c}\n\taskPass = {c}\n[credential]\n\thelper = !{c}\n"},
	{"promisor", "[extensions]\n\tpartialClone = o\n[remote \"o\"]\n\turl = ext::{c}\n\tpromisor = true\n[protocol]\n\tallow = always\n"},
	{"alternate refs", "[core]\n\talternateRefsCommand = {c}\n"},
	{"editor", "[core]\n\teditor = {c}\n[sequence]\n\teditor = {c}\n"},
	{"merge driver", "[merge \"x\"]\n\tdriver = {c}\n"},
	{"pack objects hook", "[uploadpack]\n\tpackObjectsHook = {c}\n"},
}

// A repository whose configuration names programs comes with it, in an archive say.
// burin runs none of them for its own facts: not when it starts, not for the status
// line, not to undo.
func TestProgramsStanding(t *testing.T) {
	t.Parallel()
	for i, s := range standingConfig {
		b := newBox(t)
		b.put(t, "ws/a.txt", "alpha\n")
		b.put(t, "ws/.gitattributes", "* filter=x diff=x merge=x\n")
		b.repository(t)
		program := b.put(t, "out/program", "#!/bin/sh\ntouch "+b.out+"/ran\ncat\n")
		if err := os.Chmod(program, 0o755); err != nil {
			t.Fatal(err)
		}
		// One change is undone after the configuration has become hostile.
		b.play(t, limits{}, []step{{name: "work", command: "echo new > b.txt; git add b.txt; git commit -q -m new; echo more >> a.txt"}}, confined...)
		fill := func(text string) string { return strings.NewReplacer("{c}", program, "{ws}", b.ws).Replace(text) }
		b.put(t, "ws/.git/config", b.content("ws/.git/config")+fill(s.text))
		b.put(t, "ws/inc", fill("[filter \"x\"]\n\tclean = {c}\n"))
		b.put(t, "ws/.git/config.worktree", fill("[filter \"x\"]\n\tclean = {c}\n"))
		if strings.Contains(s.name, "dotted") {
			b.put(t, "ws/.gitattributes", "* filter=a.b.clean\n")
		}
		if strings.Contains(s.name, "equals") {
			b.put(t, "ws/.gitattributes", "* filter=x=y\n")
		}
		for _, name := range []string{"post-index-change", "post-checkout", "reference-transaction", "pre-commit", "fsmonitor-watchman", "pre-auto-gc"} {
			if err := os.Chmod(b.put(t, "ws/h/"+name, b.content("out/program")), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(filepath.Join(b.ws, "a.txt"), time.Now(), time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		srv := serve(t)
		b.start(t, limits{}, nil, append([]string{"-p", "facts"}, model(srv)...)...)
		seen := ran(b, 1)
		b.start(t, limits{}, nil, "undo", "--preview")
		b.start(t, limits{}, nil, "undo", "--yes")
		if seen == "" && exists(b.out, "ran") {
			seen = "burin undo ran the command of the workspace"
		}
		if i < 6 && seen == "" { // the terminal takes longer
			b.terminal(t, append([]string{"work"}, model(srv)...), func() bool { return len(srv.Raw()) > 1 || exists(b.out, "ran") })
			seen = ran(b, 1)
		}
		hole(t, s.name, s.text, seen)
	}
}

// Names of programs are not looked up in the workspace.
func TestProgramsPath(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.put(t, "ws/a.txt", "alpha\n")
	b.repository(t)
	for _, name := range []string{"git", "sh", "bash", "notify-send", "xclip", "xsel", "wl-copy", "wl-paste", "ps", "tmux", "rg", "security", "secret-tool", "gopls", "xdg-open", "stty", "tput", "id", "hostname", "uname"} {
		if err := os.Chmod(b.put(t, "ws/"+name, "#!/bin/sh\ntouch "+b.out+"/ran-"+name+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.env = append(b.env, "PATH=.:"+the.path+":")
	srv := serve(t, call("read", `{"path":"a.txt"}`))
	b.start(t, limits{}, nil, append([]string{"-p", "facts"}, model(srv)...)...)
	b.start(t, limits{}, nil, "undo", "--list")
	seen := ""
	if found, _ := filepath.Glob(filepath.Join(b.out, "ran-*")); len(found) > 0 {
		seen = fmt.Sprintf("programs of the workspace ran: %v", found)
	}
	hole(t, "names", "PATH begins and ends with the current folder, which holds programs with the names that burin starts", seen)
}
