package owner_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/ipc"
)

// A session that another process opens, and what happens in it, are told, and so is its end. Who has left
// hears nothing.
func TestWatch(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	d := atDesk(t)
	folder := filepath.Dir(d.path)
	w := &owner.Watch{Place: d.Place, Folders: func() []string { return []string{folder} }}
	news, silent := make(chan struct{}, 1), make(chan struct{}, 1)
	hear := func(to chan struct{}) func() {
		return func() {
			select {
			case to <- struct{}{}:
			default:
			}
		}
	}
	next := func(of string) {
		t.Helper()
		select {
		case <-news:
		case <-time.After(time.Minute):
			t.Fatalf("nothing was told of %s", of)
		}
	}
	w.Listen(hear(silent))()
	leave := w.Listen(hear(news))
	defer leave()
	o := d.other("terminal")
	if open, err := ipc.List(d.Data, d.Getenv); runtime.GOOS == "windows" && err == nil && len(open) == 0 {
		t.Skip("a session is open and no pipe is listed, as Wine does: there, only files tell of sessions")
	}
	next("a session that begins")
	h := d.join("second", false)
	drained := false
	for !drained { // what told of the beginning is over
		select {
		case <-news:
		case <-time.After(1500 * time.Millisecond):
			drained = true
		}
	}
	if err := h.Conversation().SetTitle(t.Context(), "A name"); err != nil {
		t.Fatal(err)
	}
	next("its title")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	_ = o.in.Close()
	next("its end")
	if err := os.WriteFile(filepath.Join(folder, "other.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	next("a file")
	select {
	case <-silent:
		t.Error("who has left was told")
	default:
	}
}
