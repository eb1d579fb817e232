//go:build unix

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/robot"
	"github.com/burin-dev/burin/internal/pacetest"
)

// A burin in the terminal asks once a day for a newer release, where it may.
func TestUpdateHint(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	const hint = "burin v0.2.0 is available: see https://github.com/burin-dev/burin/releases"
	m := newMirror(t, httptest.NewServer, publish(t, "v0.2.0", nil))
	i := install(t, buildRelease(t, "v0.1.0", false), m)
	noted := i.home + "/home/update-check"
	leave := func(r *robot.Robot) string {
		t.Helper()
		r.WaitText("Ask anything")
		r.WaitText("opus-4-5")
		r.Press("ctrl+d")
		if code := r.WaitEnd(); code != 0 {
			t.Fatalf("burin ends with %d", code)
		}
		return r.Text()
	}
	asked := func(want int) {
		t.Helper()
		if got := m.asked(); got != want {
			t.Fatalf("the mirror was asked %d times, want %d", got, want)
		}
	}

	// Where it is not wanted.
	for _, env := range []string{"CI=1", "BURIN_OFFLINE=1"} {
		leave(i.terminal(env))
	}
	writeFile(t, i.home+"/home/config.yml", []byte("startup: {checkUpdate: false}\n"), 0o600)
	leave(i.terminal())
	writeFile(t, i.home+"/home/config.yml", nil, 0o600)
	if err := i.command("-p", "hi").Run(); err == nil {
		t.Error("there is no model, and an answer")
	}
	if _, err := os.Stat(noted); err == nil {
		t.Error("the day is noted, but nothing was to be asked")
	}
	asked(0)

	// The screen does not wait for the answer, nor does the end of burin.
	answer := make(chan struct{})
	m.raw = func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-answer:
		case <-r.Context().Done():
		}
		return false
	}
	r := i.terminal()
	r.WaitText("Ask anything")
	close(answer)
	r.WaitText(hint)
	asked(1)
	if text := leave(r); strings.Count(text, "is available") != 1 {
		t.Errorf("the hint is not there once:\n%s", text)
	}

	// Once a day.
	if text := leave(i.terminal()); strings.Contains(text, "is available") {
		t.Errorf("a hint again:\n%s", text)
	}
	asked(1)
	writeFile(t, noted, []byte(time.Now().AddDate(0, 0, -1).Format(time.DateOnly)+"\n"), 0o600)
	r = i.terminal()
	r.WaitText(hint)
	leave(r)
	asked(2)

	// This one knows no key.
	i.refuses("this burin was built without a public key, so it can't check releases", "update")
	i.refuses("no former burin at "+i.program()+".old", "update", "--back")
	asked(2)
}
