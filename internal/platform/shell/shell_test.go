package shell_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/platform/shell"
)

func TestMain(m *testing.M) {
	process.Main()
	shell.Main()
	// Under the race detector guards would take a second to end.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	if os.Getenv(victimDir) != "" {
		victim()
	}
	goleak.VerifyTestMain(m)
}

// kinds are the shells of this machine, and the one in burin.
func kinds() []string {
	all := []string{"builtin"}
	for _, name := range []string{"bash", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			all = append(all, path)
		}
	}
	return all
}

// eachKind runs test once with every shell.
func eachKind(t *testing.T, test func(t *testing.T, kind string)) {
	for _, k := range kinds() {
		t.Run(filepath.Base(k), func(t *testing.T) {
			t.Parallel()
			test(t, k)
		})
	}
}

// open opens shells in a folder of their own, and closes them with the test.
func open(t testing.TB, o shell.Options) *shell.Shells {
	t.Helper()
	if o.Dir == "" {
		o.Dir = tempDir(t)
	}
	s, err := shell.Open(o)
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

// tempDir is t.TempDir without links, as shells name it.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func run(t testing.TB, s *shell.Shells, c shell.Command) *shell.Outcome {
	t.Helper()
	o, err := s.Run(context.Background(), c, nil)
	if err != nil {
		t.Fatalf("run %q: %v", c.Line, err)
	}
	return o
}

// says runs a line and checks what it writes, and that it succeeds.
func says(t testing.TB, s *shell.Shells, line, want string) *shell.Outcome {
	t.Helper()
	o := run(t, s, shell.Command{Line: line})
	if o.Output.Text != want || o.ExitCode != 0 {
		t.Errorf("%s\nwrites %q with code %d, want %q with 0 (note %q)", line, o.Output.Text, o.ExitCode, want, o.Note)
	}
	return o
}

// eventually waits until ok, for at most a minute.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// living are the processes in dir, without those that only wait to be collected.
func living(t testing.TB, dir string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil || len(links) == 0 {
		t.Skip("there is no /proc to look for processes in")
	}
	var found []string
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.HasPrefix(cwd, dir) {
			if stat := status(filepath.Base(filepath.Dir(link))); stat != "" {
				found = append(found, stat)
			}
		}
	}
	return found
}

// status is what the system says of a process, or "" if it has ended.
func status(pid string) string {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil || strings.Contains(string(stat), ") Z ") {
		return ""
	}
	return string(stat)
}
