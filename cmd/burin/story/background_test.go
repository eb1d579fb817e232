package story_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/burin-dev/burin/internal/mode/tui/robot"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// without is a story in which no terminal is open yet.
func without(t *testing.T, turns []llmtest.Turn, with ...func(*setting)) *story {
	t.Helper()
	model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	var o setting
	for _, f := range with {
		f(&o)
	}
	o.prepare(t, model)
	s := &story{t: t, model: model, dir: o.dir, home: o.home}
	t.Cleanup(func() { // it would stay
		for _, pid := range s.owners() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	})
	return s
}

// command is another command of burin's.
func (s *story) command(args ...string) *exec.Cmd {
	cmd := exec.Command(program(s.t), args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Dir(s.home), "BURIN_HOME="+s.home, "BURIN_NO_KEYRING=1", "ANTHROPIC_API_KEY=k",
		"OLLAMA_HOST=http://127.0.0.1:1", "LLAMA_CPP_BASE_URL=http://127.0.0.1:1", "LM_STUDIO_BASE_URL=http://127.0.0.1:1")
	return cmd
}

// background begins a session in the background and gives its id.
func (s *story) background(args ...string) string {
	s.t.Helper()
	cmd := s.command(append([]string{"--background", "--model", "anthropic/claude-opus-4-5"}, args...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	id := strings.TrimSpace(string(out))
	if want := fmt.Sprintf("burin attach %s joins it, burin logs %[1]s shows it, burin stop %[1]s ends it.\n", id); err != nil || id == "" || said.String() != want {
		s.t.Fatalf("%v: %s%s", err, out, &said)
	}
	return id
}

// owners are the processes of this story that are in the background.
func (s *story) owners() (pids []int) {
	s.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(files) == 0 {
		s.t.Skip("processes are looked up in /proc")
	}
	for _, f := range files {
		env, _ := os.ReadFile(f) // of others it can't be read
		args, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		if bytes.Contains(env, []byte("BURIN_HOME="+s.home+"\x00")) && bytes.Contains(args, []byte("\x00--background-owner\x00")) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// owner is the one of them.
func (s *story) owner() int {
	s.t.Helper()
	pids := s.owners()
	if len(pids) != 1 {
		s.t.Fatalf("%d processes are in the background", len(pids))
	}
	return pids[0]
}

// ended waits until nothing is in the background, and gives what its log says.
func (s *story) ended() string {
	s.t.Helper()
	if wrong := eventually(func() string {
		if len(s.owners()) > 0 {
			return "the process in the background goes on"
		}
		return ""
	}); wrong != "" {
		s.t.Fatal(wrong)
	}
	return s.backgroundLog()
}

func (s *story) backgroundLog() string {
	s.t.Helper()
	log, err := os.ReadFile(filepath.Join(s.home, "logs", "background.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(log)
}

// A session works in the background. A terminal joins it, goes on with it and leaves; it
// stays, until it is stopped, and who is attached then goes on with it.
func TestBackground(t *testing.T) {
	t.Parallel()
	s := without(t, []llmtest.Turn{call("bash", `{"command":"echo $((6*7)) > made"}`), say("The file is made."), say("Hello to you.")})
	id := s.background("--approval", "full", "make", "it")
	terminal := s.beside("attach", id)
	terminal.WaitText("The file is made.")
	if made := terminal.read("made"); made != "42\n" {
		t.Errorf("the file has %q", made)
	}
	terminal.WaitGone("Working")
	terminal.leave()

	pid := s.owner()
	if session, err := unix.Getsid(pid); err != nil || session != pid {
		t.Errorf("it is in the session %d of a terminal, %v", session, err)
	}
	again := s.beside("--resume", id)
	again.WaitText("The file is made.")
	again.send("hello")
	again.WaitText("Hello to you.")
	again.WaitGone("Working")
	out, err := s.run("stop", id)
	if err != nil || out != "Stopped.\n" {
		t.Errorf("%v: %s", err, out)
	}
	if log := s.ended(); !strings.Contains(log, " "+id+" ends: it was stopped\n") {
		t.Errorf("the log:\n%s", log)
	}
	again.WaitText("continues here")
	out, err = s.run("stop", id)
	if err == nil || !strings.Contains(out, "this session is not in the background") {
		t.Errorf("stopping a terminal: %v: %s", err, out)
	}
}

// A session that nothing was said in yet is found, by its id and as the last of the folder.
// Ended, it leaves nothing.
func TestBackgroundWithoutPrompt(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := without(t, []llmtest.Turn{say("Good morning.")})
	first := s.background()
	if out, err := s.run("sessions"); err != nil || !strings.Contains(out, first) {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := s.run("stop", first[:6]); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	s.ended()
	if left := s.sessions(); len(left) > 0 {
		t.Errorf("it leaves %q", left)
	}
	s.background()
	terminal := s.beside("attach")
	terminal.WaitText("opus-4-5")
	terminal.send("hello")
	terminal.WaitText("Good morning.")
}

// What goes wrong at the start is said by the command, with its exit code, and nothing is
// left.
func TestBackgroundRefused(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := without(t, nil)
	id := s.background()
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"a model":     {[]string{"--background", "--model", "nobody/nothing"}, 1, `burin: no provider "nobody"`},
		"usage":       {[]string{"--background", "--no-session"}, 2, "--no-session and --background contradict each other"},
		"json":        {[]string{"--background", "--mode", "json", "hi"}, 2, "--background and --mode json contradict each other"},
		"rpc":         {[]string{"--background", "--mode", "rpc"}, 2, "--background and --mode rpc contradict each other"},
		"print":       {[]string{"--background", "-p", "x"}, 2, "--background and -p contradict each other"},
		"a file":      {[]string{"--background", "@missing.txt"}, 1, "attach @missing.txt"},
		"open":        {[]string{"--background", "--resume", id, "--model", "anthropic/claude-opus-4-5"}, 1, "is open in another burin: join it with burin attach"},
		"pass phrase": {[]string{"--background", "--seal", "--model", "anthropic/claude-opus-4-5"}, 2, "set BURIN_SESSION_PASSPHRASE"},
	} {
		cmd := s.command(tt.args...)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != tt.code || !strings.Contains(string(out), tt.says) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	s.owner()
}

// Without a face and without work it ends after background.idle. Work, a job and a face
// each keep it.
func TestBackgroundIdle(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for name, keep := range map[string]func(s *story, g gate) (release func()){
		"nothing": func(s *story, _ gate) func() {
			s.background()
			return func() {}
		},
		"work": func(s *story, g gate) func() {
			s.background("think hard")
			return g.open
		},
		"a face": func(s *story, _ gate) func() {
			face := s.beside("attach", s.background())
			face.WaitText("opus-4-5")
			return func() { face.leave() }
		},
		"a job": func(s *story, g gate) func() {
			g.open()
			s.background("--approval", "full", "serve it")
			s.waitFor("the model knows of the job", func() bool { return len(s.model.Requests()) > 1 })
			return func() { write(s.t, filepath.Join(s.dir, "over"), "") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gated("It is thought out.")
			defer g.open()
			turns := []llmtest.Turn{g.Turn}
			if name == "a job" {
				turns = []llmtest.Turn{call("bash", `{"command":"until [ -e over ]; do sleep 0.1; done","background":true}`), say("It serves.")}
			}
			s := without(t, turns, func(o *setting) { o.config = "background: {idle: 1}" })
			release := keep(s, g)
			if name != "nothing" {
				<-time.After(2 * time.Second) // twice as long as it may be idle
				s.owner()
			}
			release()
			if log := s.ended(); !strings.Contains(log, "ends: nobody was attached and nothing was done\n") {
				t.Errorf("the log:\n%s", log)
			}
		})
	}
}

// waitFor waits for what is no text of a screen.
func (s *story) waitFor(what string, is func() bool) {
	s.t.Helper()
	if wrong := eventually(func() string {
		if !is() {
			return "not so: " + what
		}
		return ""
	}); wrong != "" {
		s.t.Fatal(wrong)
	}
}

// Killed, it leaves no process; told to end, it ends in order, and says what stops.
func TestBackgroundEnds(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "terminated": syscall.SIGTERM, "hung up": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := without(t, []llmtest.Turn{call("bash", `{"command":"echo $$ > pids; (setsid sleep 1000 & echo $! >> pids); sleep 1000"}`)})
			s.background("--approval", "full", "wait for it")
			var pids []string
			s.waitFor("the command runs", func() bool {
				b, _ := os.ReadFile(filepath.Join(s.dir, "pids"))
				pids = strings.Fields(string(b))
				return len(pids) == 2
			})
			if err := syscall.Kill(s.owner(), signal); err != nil {
				t.Fatal(err)
			}
			log := s.ended()
			if told := strings.Contains(log, "ends: the process was told to end"); told != (signal != syscall.SIGKILL) {
				t.Errorf("the log:\n%s", log)
			}
			if named := strings.Contains(log, "stopped with the session: echo $$"); named != (signal != syscall.SIGKILL) {
				t.Errorf("what stops is named: %v\n%s", named, log)
			}
			for _, p := range pids {
				pid, err := strconv.Atoi(p)
				if err != nil {
					t.Fatal(err)
				}
				s.waitFor("process "+p+" has ended", func() bool { return stateOf(pid) == "" || strings.HasPrefix(stateOf(pid), "Z") })
			}
		})
	}
}

// The terminal in which it was begun is closed: it goes on.
func TestBackgroundOutlivesItsTerminal(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	g := gated("Here I still am.")
	defer g.open()
	s := without(t, []llmtest.Turn{g.Turn})
	cmd := s.command()
	shell := robot.Start(t, robot.Options{Dir: s.dir, Timeout: waitTime, Env: append(cmd.Env, "PS1=SHELL$ ")}, "bash", "--norc", "--noprofile", "-i")
	shell.WaitText("SHELL$")
	shell.Type(program(t) + " --background --model anthropic/claude-opus-4-5 are you there\n")
	shell.WaitText("joins it")
	g.wait(t)
	if err := shell.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	shell.WaitEnd()
	g.open()
	s.beside("attach").WaitText("Here I still am.")
}

// A logout hangs up all that the terminal's session has, takes the terminal away and removes the
// runtime directory. The background session works on meanwhile, and is continued from another
// terminal.
func TestBackgroundSurvivesLogout(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	g := gated("Here I still am.")
	defer g.open()
	s := without(t, []llmtest.Turn{g.Turn, call("bash", `{"command":"touch made"}`), say("It is made.")}, func(o *setting) { o.config = "approval: full\n" })
	runtime := t.TempDir()
	shell := robot.Start(t, robot.Options{Dir: s.dir, Timeout: waitTime, Env: append(s.command().Env, "PS1=SHELL$ ", "XDG_RUNTIME_DIR="+runtime)}, "bash", "--norc", "--noprofile", "-i")
	shell.WaitText("SHELL$")
	shell.Type(program(t) + " --background --model anthropic/claude-opus-4-5 are you there\n")
	shell.WaitText("joins it")
	g.wait(t)
	pid := s.owner()

	// What is in the terminal's session ends: the hangup that all of it gets, and for what ignores
	// that the end of its process group.
	for _, login := range inSession(t, shell.PID()) {
		if login == pid {
			t.Error("the background session is in the terminal's session")
		}
		_ = syscall.Kill(login, syscall.SIGHUP) // it may have ended with the first
	}
	_ = syscall.Kill(-shell.PID(), syscall.SIGKILL)
	shell.WaitEnd()
	s.waitFor("all of the terminal's session has ended", func() bool { return len(inSession(t, shell.PID())) == 0 })
	if err := os.RemoveAll(runtime); err != nil {
		t.Fatal(err)
	}
	if s.owner() != pid {
		t.Error("another process is in the background")
	}

	again := s.beside("attach")
	again.WaitText("are you there")
	g.open()
	again.WaitText("Here I still am.")
	again.WaitGone("Working")
	again.send("make it")
	again.WaitText("It is made.")
	again.WaitGone("Working")
	again.read("made")
	if s.owner() != pid {
		t.Error("the session has moved to another process")
	}
}

// inSession are the processes of a session of processes that live.
func inSession(t *testing.T, id int) (pids []int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		pid, err := strconv.Atoi(filepath.Base(d))
		if err != nil {
			t.Fatal(err)
		}
		if session, err := unix.Getsid(pid); err == nil && session == id && stateOf(pid) != "" && !strings.HasPrefix(stateOf(pid), "Z") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// A question waits for a face where the settings say so; else it is refused.
func TestBackgroundAsks(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for name, made := range map[string]bool{"refuse": false, "wait": true, "unset": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := without(t, []llmtest.Turn{call("bash", `{"command":"touch made"}`), say("It is over.")}, func(o *setting) {
				if name != "unset" {
					o.config = "ask: {unattended: " + name + "}"
				}
			})
			id := s.background("make it")
			if !made { // a face that comes before the question would be asked
				s.waitFor("the model reads that it was refused", func() bool { return len(s.model.Requests()) == 2 })
			} else {
				s.waitFor("the model was asked", func() bool { return len(s.model.Requests()) == 1 })
				face := s.beside("attach", id)
				face.WaitText("Run this command?")
				face.answer("y")
			}
			s.beside("attach", id).WaitText("It is over.")
			if _, err := os.Stat(filepath.Join(s.dir, "made")); (err == nil) != made {
				t.Errorf("made: %v", err)
			}
		})
	}
}

// Its log tells of what failed, is its user's own, begins anew when it is large, and has no
// secret.
func TestBackgroundLog(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	const secret = "sk-ant-api03-Hq7fB2mXw9LrT4vKc8NzYd1JgPs6Ue3Ao5Ei0Wq"
	s := without(t, []llmtest.Turn{{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrInvalidRequest, Message: "not with " + secret}}}})
	file := filepath.Join(s.home, "logs", "background.log")
	write(t, file, strings.Repeat("long ago\n", 1<<17))
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	s.background("try it")
	s.waitFor("it failed", func() bool { return strings.Contains(s.backgroundLog(), "not with") })
	if log := s.backgroundLog(); strings.Contains(log, secret) || strings.Contains(log, "long ago") {
		t.Errorf("the log:\n%s", log)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Standard input is part of the prompt.
func TestBackgroundReadsStandardInput(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := without(t, []llmtest.Turn{say("It is good.")})
	cmd := s.command("--background", "--model", "anthropic/claude-opus-4-5", "review this")
	cmd.Stdin = strings.NewReader("the difference")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.waitFor("the model was asked", func() bool { return len(s.model.Requests()) == 1 })
	if heard := s.heard(0); !strings.Contains(heard, "the difference") || !strings.Contains(heard, "review this") {
		t.Errorf("the model read:\n%s", heard)
	}
}

// A session that asks is listed as waiting, from any folder and without a runtime directory, as
// after a logout; its log follows it until it ends, and looking at it is no company.
func TestBackgroundIsFoundAgain(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := without(t, []llmtest.Turn{call("bash", `{"command":"touch made"}`), say("It is over.")})
	id := s.background("--approval", "ask", "make it")
	at := func(args ...string) *exec.Cmd {
		cmd := s.command(args...)
		cmd.Dir = t.TempDir()
		cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR="+t.TempDir())
		return cmd
	}
	var list []byte
	s.waitFor("it waits for an answer", func() bool {
		list, _ = at("sessions", "--running").Output()
		return bytes.Contains(list, []byte("waiting"))
	})
	for _, want := range []string{id, "asks: may run bash?", "  0  "} {
		if !bytes.Contains(list, []byte(want)) {
			t.Errorf("%q is missing in\n%s", want, list)
		}
	}
	var log bytes.Buffer
	follow := at("logs", id[:6], "-f")
	follow.Stdout = &log
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	face := s.beside("attach", id)
	face.WaitText("Run this command?")
	face.answer("y")
	face.WaitText("It is over.")
	face.WaitGone("Working")
	face.leave()
	if out, err := at("stop", id[:6]).CombinedOutput(); err != nil || string(out) != "Stopped.\n" {
		t.Errorf("%v: %s", err, out)
	}
	if err := follow.Wait(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"> make it", "touch made", "It is over."} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("the log has %q %d times:\n%s", want, n, &log)
		}
	}
}

// A session goes to the background from its terminal: a job that ran is named, the work that was
// interrupted continues, with the mode that the person had chosen.
func TestBackgroundCommand(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	g := gated("Never said.")
	defer g.open()
	s := begin(t, []llmtest.Turn{call("bash", `{"command":"sleep 1000","background":true}`), say("It sleeps."), g.Turn, call("bash", `{"command":"touch made"}`), say("It is made.")},
		func(o *setting) {
			o.bare = true // the terminal has the session itself
			o.args = []string{"--model", "anthropic/claude-opus-4-5", "--max-turns", "7", "--approval", "full"}
		})
	t.Cleanup(func() {
		for _, pid := range s.owners() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	})
	s.send("/background")
	s.WaitText("Nothing to continue: no model")
	s.send("serve it")
	s.WaitText("It sleeps.")
	s.WaitGone("Working")
	s.send("make it")
	g.wait(t)
	s.send("/bg")
	if code := s.WaitEnd(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"stopped with the session: sleep 1000", "The session continues in the background.", "joins it, burin logs"} {
		if !strings.Contains(s.Text(), want) {
			t.Errorf("%q is missing in\n%s", want, s.Text())
		}
	}
	args, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.owner()), "cmdline"))
	if err != nil || !strings.Contains(string(args), "\x00--max-turns=7\x00") {
		t.Errorf("%v: %q", err, args)
	}
	s.waitFor("the work has continued", func() bool {
		list, err := s.run("sessions", "--running")
		return err == nil && len(s.model.Requests()) == 5 && strings.Contains(list, "  idle  ")
	})
	again := s.beside("attach")
	again.WaitText("It is made.")
	again.read("made")
}

// Agents that work in the background stop with the terminal, too: the session continues, and its
// model reads which were interrupted.
func TestBackgroundCommandWithAgents(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	var m *team
	m = teamOf(func(who string, turn int, _ *llm.Request) []llm.Event {
		switch {
		case who != "":
			<-m.gate(who)
			return llmtest.Say("Result of " + who + ".")
		case turn == 0:
			return taskCall("explore", true, "one: read the tests")
		case turn == 1:
			return llmtest.Say("It works in the background.")
		}
		return llmtest.Say("I continue.")
	})
	defer m.free("one")
	s := begin(t, m.turns(), func(o *setting) { o.bare, o.args = true, []string{"--model", "anthropic/claude-opus-4-5"} })
	t.Cleanup(func() {
		for _, pid := range s.owners() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	})
	s.send("go")
	s.WaitText("It works in the background.")
	s.WaitGone("Working")
	s.WaitText("Agents · 1 running")
	s.send("/background")
	if code := s.WaitEnd(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(s.Text(), "stopped with the session: agent one") {
		t.Errorf("the terminal shows:\n%s", s.Text())
	}
	again := s.beside("attach")
	again.WaitText("I continue.")
	if told := m.told(""); !strings.Contains(told, "Continue: you were interrupted") {
		t.Errorf("the model read:\n%s", told)
	}
}
