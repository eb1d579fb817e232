package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/process"
	platform "github.com/burin-dev/burin/internal/platform/shell"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/tools/shell"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

func TestMain(m *testing.M) {
	process.Main()
	platform.Main()
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // else guards take a second to end
	goleak.VerifyTestMain(m)
}

// bench is a workspace with shells in it and the tools that use them.
type bench struct {
	*testing.T
	ws        *workspace.Workspace
	artifacts string // their folder
	tools     map[string]*tool.Tool
}

func open(t *testing.T, options ...func(*shell.Options)) *bench {
	t.Helper()
	ws, err := workspace.Open(t.TempDir(), workspace.Options{StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	b := &bench{T: t, ws: ws, artifacts: t.TempDir(), tools: map[string]*tool.Tool{}}
	shells, err := platform.Open(platform.Options{Dir: ws.Dir(), Artifacts: transcript.NewArtifacts(b.artifacts)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shells.Close() }) // before the workspace
	o := shell.Options{Workspace: ws, Shells: shells}
	for _, set := range options {
		set(&o)
	}
	for _, one := range shell.New(o) {
		b.tools[one.Name] = one
	}
	return b
}

type args = map[string]any

// valid checks arguments against the schema, as the loop does.
func (b *bench) valid(name string, a args) (json.RawMessage, error) {
	raw, _ := json.Marshal(a) // strings and numbers have JSON
	return b.tools[name].Validate(llm.ToolCall{ID: "c", Name: name, Arguments: string(raw)})
}

func (b *bench) result(ctx context.Context, name string, a args, update func(tool.Result)) (*tool.Result, error) {
	valid, err := b.valid(name, a)
	if err != nil {
		return nil, err
	}
	return b.tools[name].Run(ctx, tool.Call{ID: "c", Name: name, Arguments: valid, Update: update})
}

// call gives what the model and the faces see of a call that must not be refused.
func (b *bench) call(name string, a args) (text string, failed bool, r *tool.Result) {
	b.Helper()
	r, err := b.result(b.Context(), name, a, ignore)
	if err != nil {
		b.Fatalf("%s %v: %v", name, a, err)
	}
	return words(r), r.IsError, r
}

func ignore(tool.Result) {}
func words(r *tool.Result) (all string) {
	for _, block := range r.Content {
		all += block.(llm.Text).Text
	}
	return all
}

// details are what faces rely on.
func (b *bench) details(r *tool.Result) (d args) {
	b.Helper()
	if err := json.Unmarshal(r.Details, &d); err != nil {
		b.Errorf("details are %q: %v", r.Details, err)
	}
	return d
}

// want runs a command that gives exactly this text.
func (b *bench) want(a args, want string, failed bool) {
	b.Helper()
	if got, bad, _ := b.call("bash", a); got != want || bad != failed {
		b.Errorf("%v gave %q, failed %v; want %q, %v", a, got, bad, want, failed)
	}
}

func (b *bench) refused(name string, a args, part string) {
	b.Helper()
	if r, err := b.result(b.Context(), name, a, ignore); err == nil || !strings.Contains(err.Error(), part) {
		b.Errorf("%s %v gave %v, %v; want an error with %q", name, a, r, err, part)
	}
}

func TestWords(t *testing.T) {
	b := open(t)
	b.want(args{"command": "echo hi"}, "hi\n", false)
	b.want(args{"command": "echo out; echo err >&2; (exit 3)"}, "out\nerr\n[Exit code 3.]", true)
	b.want(args{"command": "printf x; false"}, "x\n[Exit code 1.]", true)
	b.want(args{"command": "true"}, "(no output)", false)
	b.want(args{"command": "echo; false"}, "(no output)\n[Exit code 1.]", true)
}

func TestCarriesOver(t *testing.T) {
	b := open(t)
	b.want(args{"command": "mkdir -p sub/deep && cd sub && v=kept && f() { echo \"f $1\"; }"}, "(no output)\n[In sub now.]", false)
	b.want(args{"command": "echo $v; f 1; basename $PWD"}, "kept\nf 1\nsub\n[In sub now.]", false)
	// A folder for one command does not last.
	b.want(args{"command": "basename $PWD", "cwd": "sub/deep"}, "deep\n", false)
	b.want(args{"command": "cd .."}, "(no output)", false)
	b.want(args{"command": "cd /"}, "(no output)\n[In / now.]", false)
}

func TestArguments(t *testing.T) {
	b := open(t)
	b.want(args{"command": "touch file"}, "(no output)", false)
	for part, a := range map[string]args{
		"command: ":               {"command": " \n"},
		"cwd none does not exist": {"command": "touch ran", "cwd": "none"},
		"cwd file is not a":       {"command": "touch ran", "cwd": "file"},
		"outside the workspace":   {"command": "touch ran", "cwd": ".."},
		`env: "A-B" is not`:       {"command": "touch ran", "env": args{"A-B": "1"}},
		`env: "" is not`:          {"command": "touch ran", "env": args{"": "1"}},
		"timeout is -1":           {"command": "touch ran", "timeout": -1},
	} {
		b.refused("bash", a, part)
		a["background"] = true
		b.refused("bash", a, part)
	}
	b.refused("bash", args{"command": "touch ran", "tty": true}, "leave out tty")
	for _, empty := range []string{"", " \n"} {
		if _, err := b.valid("bash", args{"command": empty}); err == nil {
			t.Errorf("command %q is valid", empty)
		}
	}
	b.want(args{"command": "ls"}, "file\n", false) // none of them ran
	b.want(args{"command": `echo "$A_1"`, "env": args{"A_1": "it's $HOME"}}, "it's $HOME\n", false)
	b.want(args{"command": `echo "[$A_1]"`}, "[]\n", false)
}

func TestTimeLimit(t *testing.T) {
	b := open(t)
	got, failed, r := b.call("bash", args{"command": "echo begun; sleep 60", "timeout": 1})
	d := b.details(r)
	if !failed || !strings.HasPrefix(got, "begun\n") || !strings.Contains(got, "\n[Stopped after 1s, its time limit.") ||
		d["timedOut"] != true || d["exitCode"] != nil || d["timeoutSeconds"] != 1.0 {
		t.Errorf("it gave %q, %v", got, d)
	}
	b.want(args{"command": "echo next"}, "next\n", false)
}

// A face sees output while the command runs, the end of it if it is long, and
// what came before a cancellation is shown.
func TestUpdateThenCancel(t *testing.T) {
	b := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	command := "printf %s\\y $L; until test -e go; do sleep 0.02; done; echo $L; echo two; sleep 60"
	last := ""
	r, err := b.result(ctx, "bash", args{"command": command, "env": args{"L": strings.Repeat("é", 3000)}}, func(r tool.Result) {
		last = words(&r)
		if len(last) > 11<<10 || !utf8.ValidString(last) {
			t.Errorf("%d bytes are shown, they begin with %q", len(last), last[:10])
		}
		if strings.HasSuffix(last, "y") {
			_ = os.Mkdir(filepath.Join(b.ws.Dir(), "go"), 0o700)
		} else if strings.HasSuffix(last, "two\n") {
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	} else if got := words(r); !r.IsError || !strings.Contains(got, "two\n") || !strings.Contains(got, "\n[Cancelled.]") || b.details(r)["cancelled"] != true {
		t.Errorf("it gave %q, %s", got, r.Details)
	}
}

func TestDetailsAndUndo(t *testing.T) {
	b := open(t)
	b.want(args{"command": "echo before > old"}, "(no output)", false)
	if err := b.ws.BeginTurn("t1", "change"); err != nil {
		t.Fatal(err)
	}
	_, _, r := b.call("bash", args{"command": "touch x; echo after > old; sleep 0.01; (exit 4)"})
	d := b.details(r)
	want := args{"exitCode": 4.0, "timeoutSeconds": 300.0, "cwd": b.ws.Dir(), "changed": []any{"old", "x"}, "wallTimeMs": d["wallTimeMs"], "output": d["output"]}
	if diff := cmp.Diff(want, d); diff != "" || want["wallTimeMs"].(float64) < 10 {
		t.Errorf("details (-want +got):\n%s", diff)
	}
	if _, _, r := b.call("bash", args{"command": "cat old"}); b.details(r)["exitCode"] != 0.0 || b.details(r)["changed"] != nil {
		t.Errorf("details of a command that reads are %s", r.Details)
	}
	turns, err := b.ws.Turns()
	if err != nil || len(turns) == 0 || turns[0].ID != "t1" || !slices.Equal(turns[0].Paths, []string{"old", "x"}) {
		t.Fatalf("turns are %+v, %v", turns, err)
	}
	if done, err := b.ws.Undo(t.Context(), "t1"); err != nil || len(done.Kept) > 0 {
		t.Fatalf("undo gave %+v, %v", done, err)
	}
	b.want(args{"command": "ls && cat old"}, "old\nbefore\n", false)
}

// A slow command becomes a job, and an undo of the turn covers all that it changes.
func TestAutoBackground(t *testing.T) {
	b := open(t, func(o *shell.Options) { o.AutoBackground = 300 * time.Millisecond })
	b.want(args{"command": "echo before > old; echo before > later"}, "(no output)", false)
	if err := b.ws.BeginTurn("t1", "change"); err != nil {
		t.Fatal(err)
	}
	got, failed, r := b.call("bash", args{"command": "echo after > old; echo begun; until test -e go; do sleep 0.05; done; echo after > later; seq 1 30 | tail -2"})
	if failed || !strings.HasPrefix(got, "begun\n[Still running after ") || !strings.Contains(got, "it is job 1 now. See its output with job_poll, end it with job_kill.]\n[The shell went to the background") {
		t.Errorf("it gave %q, failed %v", got, failed)
	}
	if d := b.details(r); d["jobId"] != "1" || d["exitCode"] != nil || d["timedOut"] != nil || !slices.Equal(d["changed"].([]any), []any{"old"}) {
		t.Errorf("details are %s", r.Details)
	}
	b.want(args{"command": "touch go"}, "(no output)", false)
	if got, failed, _ := b.call("job_poll", args{"job": "1", "wait": 20}); failed || got[strings.Index(got, "\n29")+1:] != "29\n30\n[Job 1: ended with exit code 0.]" {
		t.Errorf("the job gave %q", got)
	}
	if done, err := b.ws.Undo(t.Context(), "t1"); err != nil || len(done.Kept) > 0 {
		t.Fatalf("undo gave %+v, %v", done, err)
	}
	b.want(args{"command": "cat old later; ls"}, "before\nbefore\nlater\nold\n", false)
}

func TestNoBackground(t *testing.T) {
	pacetest.Costly(t)
	b := open(t, func(o *shell.Options) { o.NoBackground, o.AutoBackground = true, time.Millisecond })
	if len(b.tools) != 1 || strings.Contains(b.tools["bash"].Description, "job_poll") {
		t.Errorf("%d tools, bash: %s", len(b.tools), b.tools["bash"].Description)
	}
	b.refused("bash", args{"command": "ls", "background": true}, "background jobs are off")
	b.want(args{"command": "sleep 0.1; echo a"}, "a\n", false)
	if got, _, _ := b.call("bash", args{"command": "sleep 60", "timeout": 1}); !strings.Contains(got, "For long work set timeout.]") {
		t.Errorf("it gave %q", got)
	}
	b.refused("bash", args{"command": "cat", "tty": true}, "in this run: leave out tty")
}

func TestLongOutput(t *testing.T) {
	b := open(t)
	got, failed, _ := b.call("bash", args{"command": "seq 1 40000; printf end; (exit 5)"})
	if !failed || len(got) > 60<<10 || !strings.HasPrefix(got, "1\n2\n") || !strings.Contains(got, "\n40000\nend\n[") ||
		!strings.Contains(got, "artifact://0") || !strings.HasSuffix(got, "]\n[Exit code 5.]") {
		t.Errorf("%d bytes, failed %v, it ends with %q", len(got), failed, got[max(0, len(got)-200):])
	}
	if whole, err := os.ReadFile(filepath.Join(b.artifacts, "0.bash.log")); err != nil || strings.Count(string(whole), "\n") != 40000 {
		t.Errorf("the artifact has %d bytes, %v", len(whole), err)
	}
}

func TestTogetherAndAccess(t *testing.T) {
	b := open(t)
	bash := b.tools["bash"]
	for _, c := range []struct {
		args     args
		together bool
		access   tool.Access
	}{
		{args{"command": "git status && ls | wc -l"}, true, tool.Access{Target: "git status && ls | wc -l"}},
		{args{"command": "ls", "cwd": "./a/../sub"}, true, tool.Access{Target: "ls", Dir: "sub"}},
		{args{"command": "ls", "cwd": "/etc"}, true, tool.Access{Target: "ls", Dir: "/etc"}},
		{args{"command": "git log | tail -5"}, true, tool.Access{Target: "git log"}},
		{args{"command": "git log | tail -5", "background": true}, true, tool.Access{Target: "git log | tail -5"}},
		{args{"command": "cd n && pwd"}, false, tool.Access{Target: "cd n && pwd"}},
		{args{"command": "cat x; cd n"}, false, tool.Access{Target: "cat x; cd n"}},
		{args{"command": "set -u"}, false, tool.Access{Target: "set -u"}},
		{args{"command": "shopt -s globstar; ls **"}, false, tool.Access{Target: "shopt -s globstar; ls **"}},
		{args{"command": "unset A"}, false, tool.Access{Target: "unset A"}},
		{args{"command": "ls; A=1"}, false, tool.Access{Target: "ls; A=1"}},
		{args{"command": "echo $A"}, false, tool.Access{Target: "echo $A"}},
		{args{"command": "exit"}, false, tool.Access{Target: "exit"}},
		{args{"command": "wait"}, false, tool.Access{Target: "wait"}},
		{args{"command": "ls > x"}, false, tool.Access{Target: "ls > x"}},
		{args{"command": "touch x"}, false, tool.Access{Target: "touch x"}},
		{args{"command": "ls", "tty": true}, false, tool.Access{Target: "ls"}},
		{args{"command": "ls", "env": args{"B": "a b; rm x", "A": "1"}}, false, tool.Access{Target: "export A=1\nexport B='a b; rm x'\nls"}},
	} {
		raw, err := b.valid("bash", c.args)
		if err != nil {
			t.Fatal(err)
		}
		if got := bash.Together(raw); got != c.together {
			t.Errorf("%v together: %v", c.args, got)
		}
		c.access.Kind = tool.AccessExecute
		got, err := bash.Access(raw)
		if diff := cmp.Diff([]tool.Access{c.access}, got); diff != "" || err != nil {
			t.Errorf("%v: %v, accesses (-want +got):\n%s", c.args, err, diff)
		}
	}
}

func TestJobs(t *testing.T) {
	b := open(t)
	has := func(name string, a args, failed bool, parts ...string) {
		t.Helper()
		got, bad, _ := b.call(name, a)
		missing := func(part string) bool { return !strings.Contains(got, part) }
		if bad != failed || slices.ContainsFunc(parts, missing) {
			t.Errorf("%s %v gave %q, failed %v; want %q, %v", name, a, got, bad, parts, failed)
		}
	}
	has("job_list", args{}, false, "No jobs.")
	b.refused("job_poll", args{"job": "1"}, `no job "1"; no jobs exist`)
	got, _, r := b.call("bash", args{"command": "echo begun; read x; echo got $x; exit 6", "background": true})
	if b.details(r)["jobId"] != "1" || !strings.HasPrefix(got, "Started job 1.") {
		t.Errorf("it gave %q, %s", got, r.Details)
	}
	has("job_list", args{}, false, "1  running for ", "echo begun; read x;")
	has("job_write", args{"job": "1", "input": "it\n"}, false, "Sent 3 bytes to job 1.")
	has("job_poll", args{"job": "1", "wait": 20}, true, "got it\n[Job 1: ended with exit code 6.]")
	has("job_poll", args{"job": "1"}, true, "(no new output)\n[Job 1: ended")
	has("job_poll", args{"job": "1", "all": true}, true, "begun\ngot it\n[Job 1: ended")
	b.refused("job_write", args{"job": "1", "input": "more"}, "job 1: ")
	b.call("bash", args{"command": "sleep 60", "background": true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.result(ctx, "job_poll", args{"job": "2", "wait": 60}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that is cancelled gave %v", err)
	}
	has("job_poll", args{"job": "2", "wait": 1}, false, "(no new output)\n[Job 2: running for ")
	has("job_kill", args{"job": "2"}, false, "[Job 2: killed.]")
	has("job_kill", args{"job": "2"}, false, "[Job 2: killed.]")
	has("job_kill", args{"job": "1"}, true, "[Job 1: ended with exit code 6.]")
	has("job_list", args{}, false, "1  ended with exit code 6  ", "2  killed  sleep 60\n")
	b.call("bash", args{"command": "seq 1 40000; printf end", "background": true})
	has("job_poll", args{"job": "3", "wait": 20, "all": true}, false, "\n40000\nend\n[", "artifact://", "]\n[Job 3: ended with exit code 0.]")
	b.refused("job_kill", args{"job": "7"}, `no job "7"; jobs: 1, 2, 3`)
}

// A tail that hides the exit code does not run, but its lines are what is shown.
func TestTail(t *testing.T) {
	b := open(t)
	b.want(args{"command": "seq 1 30 | tail -2"}, "29\n30\n[The last 2 of 30 lines, as `| tail -2` asks. Leave it out: long output is cut anyway.]", false)
	b.want(args{"command": "seq 1 2 | tail -2"}, "1\n2\n", false)
	b.want(args{"command": "(echo why; echo b; echo c; exit 3) 2>&1 | tail -n 2"}, "why\nb\nc\n[`| tail -n 2` was left out, because the command failed.]\n[Exit code 3.]", true)
	got, _, _ := b.call("bash", args{"command": "seq 1 40000 | tail -1"})
	if want := "40000\n[The last 1 of 40000 lines, as `| tail -1` asks; artifact://0 has all. Leave it out: long output is cut anyway.]"; got != want {
		t.Errorf("it gave %q", got)
	}
}

// Nobody sees the terminal of a job; job_write talks to it.
func TestJobOnATerminal(t *testing.T) {
	b := open(t)
	b.call("bash", args{"command": "test -t 0 && read x && echo got $x", "background": true, "tty": true})
	b.call("job_write", args{"job": "1", "input": "it\n"})
	if got, failed, _ := b.call("job_poll", args{"job": "1", "wait": 20, "all": true}); failed || !strings.Contains(got, "got it\n[Job 1: ended with exit code 0.]") {
		t.Errorf("it gave %q", got)
	}
}

// What a poll leaves out is in the artifact of the job.
func TestPollOfMuchOutput(t *testing.T) {
	b := open(t)
	b.call("bash", args{"command": "seq 1 40000", "background": true})
	got, _, _ := b.call("job_poll", args{"job": "1", "wait": 20})
	if !strings.Contains(got, "\n40000\n[") || !strings.Contains(got, "Read artifact://0 for the full output]\n[Job 1: ended") {
		t.Errorf("it ends with %q", got[max(0, len(got)-200):])
	}
}
