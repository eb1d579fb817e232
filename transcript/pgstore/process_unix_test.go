//go:build unix

package pgstore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/pgstore"
)

const shortLease = 500 * time.Millisecond

// TestWriterProcess is the other process of TestTwoProcesses: it appends each line that it
// reads, and says what came of it.
func TestWriterProcess(t *testing.T) {
	address := os.Getenv(childAddress)
	if address == "" {
		t.Skip("it runs as a child of TestTwoProcesses")
	}
	s, err := pgstore.OpenFor(context.Background(), openDB(t, address), "s", shortLease)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("open")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if _, err := s.Append([]byte(lines.Text())); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("written")
		}
	}
	_ = s.Close() // it may have been taken over
}

type writer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startWriter(t *testing.T, address string) *writer {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{cmd: exec.Command(exe, "-test.run=^TestWriterProcess$")}
	w.cmd.Env = append(os.Environ(), childAddress+"="+address)
	w.cmd.Stderr = os.Stderr
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.out = bufio.NewReader(out)
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // it may have ended
		_ = w.cmd.Wait()
	})
	if line := w.line(t); line != "open" {
		t.Fatal(line)
	}
	return w
}

func (w *writer) line(t *testing.T) string {
	t.Helper()
	line, err := w.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (w *writer) append(t *testing.T, record string) string {
	t.Helper()
	if _, err := io.WriteString(w.in, record+"\n"); err != nil {
		t.Fatal(err)
	}
	return w.line(t)
}

// A process that is killed leaves its session at once to its own machine, and to others when its lease ends. One that is stopped for
// longer than that and woken up writes nothing stale, and says so on a line.
func TestTwoProcesses(t *testing.T) {
	address := pgtest.Shared(t).Database(t)
	db := openDB(t, address)
	closeStore(t, create(t, db, "s"))
	var err error
	// takeOver opens the session as soon as that can be done.
	takeOver := func() *pgstore.Store {
		t.Helper()
		if _, err := pgstore.Open(t.Context(), db, "s"); !errors.Is(err, transcript.ErrLocked) {
			t.Fatalf("the lease has not ended: %v", err)
		}
		for {
			s, err := pgstore.Open(t.Context(), db, "s")
			if err == nil {
				return s
			}
			if !errors.Is(err, transcript.ErrLocked) {
				t.Fatal(err)
			}
			<-time.After(shortLease / 10)
		}
	}

	var s *pgstore.Store
	for n := 1; n <= 2; n++ {
		killed := startWriter(t, address)
		if said := killed.append(t, "{1}"); said != "written" {
			t.Fatal(said)
		}
		if n == 2 { // as on another machine, of which nobody knows what it does
			if _, err := db.Exec(`UPDATE burin.sessions SET owner = replace(owner, E'\n', ' ')`); err != nil {
				t.Fatal(err)
			}
		}
		if err := killed.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if _, err := killed.cmd.Process.Wait(); err != nil {
			t.Fatal(err)
		}
		if n == 2 || runtime.GOOS != "linux" {
			s = takeOver()
		} else if s, err = pgstore.Open(t.Context(), db, "s"); err != nil {
			t.Fatalf("the lease of a process that was killed here has not ended with it: %v", err)
		}
		if _, err := s.Append([]byte("{2}")); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
	}

	stopped := startWriter(t, address)
	if said := stopped.append(t, "{3}"); said != "written" {
		t.Fatal(said)
	}
	if err := stopped.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s = takeOver()
	if _, err := s.Append([]byte("{4}")); err != nil {
		t.Fatal(err)
	}
	if err := stopped.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	want := "write session s: " + pgstore.ErrTakenOver.Error()
	for range 2 {
		if said := stopped.append(t, "{stale}"); said != want {
			t.Errorf("the process that was stopped says %q, want %q", said, want)
		}
	}
	if diff := cmp.Diff([]string{"{1}", "{2}", "{1}", "{2}", "{3}", "{4}"}, records(t, s)); diff != "" {
		t.Error(diff)
	}
	closeStore(t, s)
}
