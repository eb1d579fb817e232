package sandbox_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/platform/sandbox"
)

func TestMain(m *testing.M) {
	process.Main()
	os.Setenv("GORACE", "atexit_sleep_ms=0") // or each guard of a race-tested binary ends a second late
	if name := os.Getenv(trial); name != "" {
		os.Exit(runTrial(name))
	}
	goleak.VerifyTestMain(m)
}

// begin starts a sandbox for the length of a test.
func begin(t testing.TB, p sandbox.Policy) *sandbox.Sandbox {
	t.Helper()
	s, err := sandbox.Start(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// folder makes a temporary folder and gives its name without links.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPoliciesThatMakeNoSense(t *testing.T) {
	dir := folder(t)
	for _, tt := range []struct {
		policy sandbox.Policy
		says   string
	}{
		{sandbox.Policy{Mode: "none", Workspace: dir}, `must be read-only, workspace-write or full, not "none"`},
		{sandbox.Policy{Mode: sandbox.ReadOnly, Workspace: "relative"}, `"relative" is not an absolute path`},
		{sandbox.Policy{Mode: sandbox.ReadOnly}, "not an absolute path"},
		{sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: filepath.Join(dir, "missing")}, "workspace: lstat"},
		{sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: dir, Secret: []string{"~/.ssh"}}, "not an absolute path"},
		{sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: dir, Hosts: []string{"https://example.com"}}, `allowed host "https://example.com"`},
	} {
		s, err := sandbox.Start(tt.policy)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v, want %q", tt.policy, err, tt.says)
		}
	}
}

func TestFullIsNoSandbox(t *testing.T) {
	s := begin(t, sandbox.Policy{Mode: sandbox.Full, Hosts: []string{"example.com"}})
	if s.Encoded() != nil || s.Env() != nil || s.Explain("Permission denied", 1) != "" {
		t.Errorf("full confines: %s %v", s.Encoded(), s.Env())
	}
}

func TestProxyVariables(t *testing.T) {
	dir := folder(t)
	if env := begin(t, sandbox.Policy{Mode: sandbox.ReadOnly, Workspace: dir}).Env(); env != nil {
		t.Errorf("variables without allowed hosts: %v", env)
	}
	if env := begin(t, sandbox.Policy{Mode: sandbox.ReadOnly, Workspace: dir, Network: true, Hosts: []string{"example.com"}}).Env(); env != nil {
		t.Errorf("variables where all hosts are allowed: %v", env)
	}
	env := begin(t, sandbox.Policy{Mode: sandbox.ReadOnly, Workspace: dir, Hosts: []string{"example.com"}}).Env()
	var names []string
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		names = append(names, name)
		if strings.HasPrefix(strings.ToLower(name), "no_") {
			continue
		}
		if !strings.HasPrefix(value, "http://burin:") || !strings.Contains(value, "@127.0.0.1:") {
			t.Errorf("%s", v)
		}
	}
	want := []string{"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
}

// What cannot be enforced is said, not passed over.
func TestMissing(t *testing.T) {
	dir := folder(t)
	hidden := filepath.Join(dir, "work", ".env")
	write(t, hidden, "x")
	p := sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: filepath.Join(dir, "work"), Secret: []string{hidden, filepath.Join(dir, "workshop")}}
	missing := begin(t, p).Missing()
	if walls := sandbox.Available().Walls || runtime.GOOS == "darwin"; walls && missing != "" || !walls && (strings.Count(missing, "cannot be hidden") != 1 || !strings.Contains(missing, hidden)) {
		t.Errorf("missing: %q", missing)
	}
	p.Mode = sandbox.ReadOnly
	if got := begin(t, p).Missing(); got != "" {
		t.Errorf("missing where nothing is written: %q", got)
	}
}
