package tui

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/session"
)

// watched is a terminal that remembers what was shown.
type watched struct {
	sheet
	over  <-chan struct{}
	asked chan struct{} // closed when news are asked for
	wrote chan struct{} // has room for one

	mu    sync.Mutex
	shown strings.Builder
}

func (w *watched) Write(p []byte) (int, error) {
	select { // slow enough for whoever does not wait for the first screen
	case <-w.asked:
	case <-time.After(100 * time.Millisecond):
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.wrote <- struct{}{}:
	default:
	}
	return w.shown.Write(p)
}

// Read waits: nobody types.
func (w *watched) Read([]byte) (int, error) {
	<-w.over
	return w.sheet.Read(nil)
}

func (w *watched) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shown.String()
}

// News are asked for when the prompt is on the screen, and don't hold it up.
func TestNewsComeAfterFirstScreen(t *testing.T) {
	dir := t.TempDir()
	settings, err := config.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithTimeout(t.Context(), time.Minute)
	defer leave()
	to := &watched{over: ctx.Done(), asked: make(chan struct{}), wrote: make(chan struct{}, 1)}
	before, answer := make(chan string, 1), make(chan string)
	a := newApp(Options{
		Getenv: func(string) string { return "" }, Settings: settings, Dir: dir, Home: dir,
		Paths: config.Paths{Config: dir, Data: dir, State: dir, Cache: dir}, Host: nobody{},
		Open: func(context.Context, Wish) (session.Handle, error) { return nil, errors.New("no sessions here") },
		News: func(ctx context.Context) string {
			before <- to.text()
			close(to.asked)
			select {
			case line := <-answer:
				return line
			case <-ctx.Done():
				return ""
			}
		},
	})
	a.display.term = to
	ended := make(chan error)
	go func() {
		_, err := a.run(ctx)
		ended <- err
	}()
	if text := <-before; !strings.Contains(text, "Ask anything") {
		t.Errorf("news were asked for before the prompt was there: %q", text)
	}
	answer <- "burin v9.9.9 is available"
	for !strings.Contains(to.text(), "v9.9.9") {
		select {
		case <-to.wrote:
		case <-ctx.Done():
			t.Fatalf("the news aren't shown: %q", to.text())
		}
	}
	leave()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
