package demo_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/mode/demo"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

func TestMain(m *testing.M) {
	bench.Main() // commands have guards, which are this program again
	goleak.VerifyTestMain(m)
}

func TestRun(t *testing.T) {
	pacetest.Costly(t)
	// Neither keys nor proxies of the environment have a part in it.
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("TMPDIR", t.TempDir())
	state := t.TempDir()
	var out bytes.Buffer
	if err := demo.Run(context.Background(), demo.Options{Out: &out, StateDir: state, Pace: time.Microsecond}); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, want := range []string{
		"the model is a script on this machine", "> A test fails here.", "● Run  go test ./...", "--- FAIL: TestMedianKeepsOrder",
		"● Search  func Median", "● Read  median.go", "● Edit  median.go", "+\tamounts = slices.Clone(amounts)", "All tests pass.",
		"I am a script, not a model", "burin sessions show ", "export ANTHROPIC_API_KEY=",
	} {
		if !strings.Contains(out.String(), strings.ReplaceAll(want, "\t", " ")) {
			t.Errorf("the demo does not show %q:\n%s", want, &out)
		}
	}
	dir := regexp.MustCompile(`folder +(\S+)`).FindStringSubmatch(out.String())[1]
	cmd := exec.Command("go", "test", "./...")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the repository's tests do not pass: %v\n%s", err, text)
	}
	// The session is on the disk, whole.
	files, err := filepath.Glob(filepath.Join(state, "sessions", "*", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("sessions %v, %v", files, err)
	}
	l, damage, err := transcript.ReadSession(files[0], transcript.Options{})
	if err != nil || damage.Serious() || damage.Torn {
		t.Fatalf("%v, %v", damage, err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := l.Context(l.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	calls, results := 0, 0
	for _, m := range c.Messages {
		calls += len(m.ToolCalls())
		if m.Role == llm.RoleToolResult {
			results++
		}
	}
	if calls != 5 || results != 5 {
		t.Errorf("%d calls and %d results are kept", calls, results)
	}
}

// interrupting cancels when it is written to.
type interrupting struct {
	bytes.Buffer
	cancel context.CancelFunc
}

func (w *interrupting) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "●") {
		w.cancel()
	}
	return w.Buffer.Write(b)
}

func TestRunInterrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	out := &interrupting{cancel: cancel}
	err := demo.Run(ctx, demo.Options{Out: out, StateDir: t.TempDir(), Pace: time.Microsecond})
	if llm.KindOf(err) != llm.ErrAborted {
		t.Errorf("error %v", err)
	}
	if got := out.String(); !strings.Contains(got, "● Run") || strings.Contains(got, "All tests pass") {
		t.Errorf("wrote %q", got)
	}
}

func TestRunNeedsGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := demo.Run(context.Background(), demo.Options{Out: new(bytes.Buffer), StateDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "needs go") || os.Getenv("PATH") == "" {
		t.Errorf("error %v", err)
	}
}
