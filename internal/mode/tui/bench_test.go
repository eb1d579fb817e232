package tui

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/terminal"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// sheet is a terminal that nobody looks at.
type sheet struct{ frames, bytes int }

func (s *sheet) Write(p []byte) (int, error) {
	s.frames++
	s.bytes += len(p)
	return len(p), nil
}

func (s *sheet) Read([]byte) (int, error)            { return 0, os.ErrDeadlineExceeded }
func (s *sheet) Start() error                        { return nil }
func (s *sheet) Stop()                               {}
func (s *sheet) Guard(string) error                  { return nil }
func (s *sheet) Reply(key.Reply) bool                { return false }
func (s *sheet) Alternate(bool)                      {}
func (s *sheet) Mouse(terminal.Mouse)                {}
func (s *sheet) Size() (width, height int)           { return 100, 40 }
func (s *sheet) SetReadDeadline(time.Time) error     { return nil }
func (s *sheet) Hurry()                              {}
func (s *sheet) Foreground() bool                    { return true }
func (s *sheet) Lend() (in, out *os.File, err error) { return nil, nil, os.ErrInvalid }

func (s *sheet) LendRaw() (in, out *os.File, back func(), err error) {
	return nil, nil, nil, os.ErrInvalid
}

// face is a face without a session, after its first picture.
func face(b testing.TB, set ...func(*Options)) (*app, *sheet) {
	b.Helper()
	dir := b.TempDir()
	settings, err := config.Load(dir)
	if err != nil {
		b.Fatal(err)
	}
	o := Options{
		Getenv: func(string) string { return "" }, Settings: settings, Dir: dir, Home: dir,
		Paths: config.Paths{Config: dir, Data: dir, State: dir, Cache: dir},
	}
	for _, f := range set {
		f(&o)
	}
	a := newApp(o)
	to := &sheet{}
	a.display.term, a.ctx = to, b.Context()
	if err := a.start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { a.facts.repo.Close(); a.composer.close() })
	a.greeter.known()
	a.draw()
	return a, to
}

func report(b *testing.B, to *sheet) {
	b.ReportMetric(float64(to.bytes)/float64(b.N), "B-written/op")
	b.ReportMetric(float64(to.frames)/float64(b.N), "frames/op")
}

// A key, from the decoded event to the bytes of the frame.
func BenchmarkKey(b *testing.B) {
	for _, length := range []int{0, 300, 30_000} {
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			a, to := face(b)
			text := make([]byte, length)
			for i := range text {
				text[i] = "abcdefgh "[i%9]
			}
			if err := a.composer.editor.SetText(string(text)); err != nil {
				b.Fatal(err)
			}
			a.draw()
			*to = sheet{}
			b.ReportAllocs()
			keys := [2]key.Event{key.Press{Key: "x", Text: "x"}, key.Press{Key: "backspace"}}
			for i := 0; b.Loop(); i++ {
				a.onKeys(keys[i%2])
				a.frame()
			}
			report(b, to)
		})
	}
}

// A frame in which only the spinner turns.
func BenchmarkSpin(b *testing.B) {
	a, to := face(b)
	now := time.Now()
	a.env.Now = func() time.Time { return now }
	a.work.on, a.work.began = true, now
	a.talk.event(&session.Event{Event: agent.Event{Type: agent.MessageStart, Message: &llm.Message{Role: llm.RoleAssistant}}})
	a.draw()
	*to = sheet{}
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(spinTime)
		a.onTimer()
		a.frame()
	}
	report(b, to)
}

// A frame for some tokens of an answer, which is what a second of an answer has thirty of.
func BenchmarkPiece(b *testing.B) {
	a, to := face(b)
	now := time.Now()
	a.env.Now = func() time.Time { return now }
	a.work.on, a.work.began = true, now
	a.talk.event(&session.Event{Event: agent.Event{Type: agent.MessageStart, Message: &llm.Message{Role: llm.RoleAssistant}}})
	words := []string{"some", " wor", "ds a", "nd `", "code", "`, *", "more", "* of", " it.", "\n\n", "- an", " ite", "m\n\n"}
	*to = sheet{}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e := session.Event{Event: agent.Event{Type: agent.MessageUpdate}}
		e.Stream = llm.Event{Type: llm.EventTextDelta, Delta: words[i%len(words)]}
		a.talk.event(&e)
		a.dirty = true
		now = now.Add(frameTime)
		a.frame()
	}
	report(b, to)
}
