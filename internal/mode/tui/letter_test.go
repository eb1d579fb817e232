package tui

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
)

// atWork is a face whose model works. Texts that begin with "slow" are expanded when the
// disk is free.
func atWork(t *testing.T) (d *desk, free func()) {
	t.Helper()
	disk := make(chan struct{})
	turn, asked, answer := held("Done.")
	d = atDesk(t, func(_ Wish, o *session.Options) {
		o.Expand = func(_ context.Context, text string) (string, error) {
			if rest, ok := strings.CutPrefix(text, "slow"); ok {
				<-disk
				return "expanded" + rest, nil
			}
			return text, nil
		}
	}, turn)
	t.Cleanup(answer) // before the model ends
	d.outbox.send("work", steerNow)
	d.until("the model", func() bool {
		select {
		case <-asked:
			return true
		default:
			d.inbox.rouse()
			return false
		}
	})
	return d, func() { close(disk) }
}

// A disk that is slow holds up neither keys nor the order of prompts.
func TestLettersInOrder(t *testing.T) {
	d, free := atWork(t)
	d.outbox.send("slow one", steerNow)
	d.outbox.send("two", steerNow)
	d.outbox.send("slow three", afterWork)
	d.types("typed")
	if got := d.shown(); !strings.Contains(got, "next: slow one") || !strings.Contains(got, "two") || !strings.Contains(got, "slow three") || !strings.Contains(got, "typed") {
		t.Errorf("it shows:\n%s", got)
	}
	if waits := d.waitsInSession(); len(waits) > 0 {
		t.Errorf("the session has %q", waits)
	}
	free()
	d.until("all of them", func() bool { return len(d.outbox.outgoing) == 0 })
	if diff := cmp.Diff([]string{"slow one", "two", "slow three"}, d.waitsInSession()); diff != "" {
		t.Errorf("the session has (-want +got):\n%s", diff)
	}
}

// What is taken back stands in the editor as it was written, with its pictures, whether
// the session has it already or not.
func TestLettersTakenBack(t *testing.T) {
	for name, late := range map[string]bool{"in the queue": false, "on the way": true} {
		t.Run(name, func(t *testing.T) {
			d, free := atWork(t)
			for _, text := range []string{"slow one", "two", "three"} {
				if text != "three" {
					d.composer.attached = []llm.Block{llm.Image{MIME: "image/png", Data: []byte(text)}}
				}
				d.outbox.send(text, steerNow)
			}
			if !late {
				free()
				d.until("all of them", func() bool { return len(d.outbox.outgoing) == 0 })
			}
			if late {
				first := d.outbox.outgoing[slices.IndexFunc(d.outbox.outgoing, func(l *letter) bool { return l.text == "slow one" })]
				d.until("the disk to be asked", func() bool { d.inbox.rouse(); return first.owner.Load() == atSession })
			}
			d.outbox.unqueue(false)
			if late {
				if got := d.composer.editor.Text(); got != "two\n\nthree" {
					t.Errorf("the editor has %q at once", got)
				}
				free()
				d.until("the first", func() bool { return len(d.outbox.outgoing) == 0 })
			}
			if got := d.composer.editor.Text(); got != "slow one\n\ntwo\n\nthree" {
				t.Errorf("the editor has %q", got)
			}
			var pictures []string
			for _, b := range d.composer.attached {
				pictures = append(pictures, string(b.(llm.Image).Data))
			}
			if diff := cmp.Diff([]string{"slow one", "two"}, pictures); diff != "" {
				t.Errorf("pictures (-want +got):\n%s", diff)
			}
			if waits := d.waitsInSession(); len(waits) > 0 {
				t.Errorf("the session has %q", waits)
			}
			if len(d.outbox.letters) != 1 { // that of the work
				t.Errorf("%d letters are remembered", len(d.outbox.letters))
			}
		})
	}
}

// What waits is taken back while the prompt that the model works on is just arriving: that one isn't
// stopped by it.
func TestLetterThatBeganStays(t *testing.T) {
	turn, asked, answer := held("Done.")
	answer = sync.OnceFunc(answer)
	d := atDesk(t, nil, turn)
	t.Cleanup(answer) // before the model ends
	d.outbox.send("work", steerNow)
	<-asked // the loop doesn't know yet that the session has it
	if len(d.outbox.outgoing) != 1 {
		t.Fatalf("%d are on their way", len(d.outbox.outgoing))
	}
	d.outbox.unqueue(false)
	d.until("it to arrive", func() bool { return len(d.outbox.outgoing) == 0 })
	if len(d.outbox.letters) != 1 || !d.work.on || d.composer.editor.Text() != "" {
		t.Errorf("%d letters, working %v, the editor has %q", len(d.outbox.letters), d.work.on, d.composer.editor.Text())
	}
	answer()
	d.until("the answer", func() bool { return !d.work.on })
	if said := lastMessages(d.session.Log()); len(said) != 2 || said[1].Text() != "Done." {
		t.Errorf("the session has %d messages, %+v", len(said), said)
	}
}

// A prompt on its way into a session that is left comes back.
func TestLetterToASessionThatIsLeft(t *testing.T) {
	d, free := atWork(t)
	old := d.session
	d.outbox.send("slow one", steerNow)
	d.outbox.send("two", steerNow)
	d.switcher.open(Wish{Resume: "two"})
	d.until("leaving", func() bool { return d.session != old })
	free()
	d.until("the next session", func() bool { return d.session != nil && len(d.outbox.outgoing) == 0 })
	if got := d.composer.editor.Text(); got != "slow one\n\ntwo" {
		t.Errorf("the editor has %q", got)
	}
}

// A prompt that is stopped in the moment in which it is sent is either in the editor or
// with the model.
func TestLetterStoppedAtOnce(t *testing.T) {
	for range 20 {
		d := atDesk(t, nil, llmtest.Turn{Parts: []llmtest.Part{{Text: "Answer."}}})
		d.outbox.send("hello", steerNow)
		if d.work.letter == nil || !d.work.on {
			t.Fatal("nothing was sent")
		}
		d.brake.stop()
		d.until("the end of it", func() bool { return !d.work.on && len(d.outbox.outgoing) == 0 })
		inEditor, said := d.composer.editor.Text() == "hello", len(lastMessages(d.session.Log())) > 0
		if inEditor == said {
			t.Errorf("in the editor: %v, in the session: %v", inEditor, said)
		}
	}
}

// One that the session has, but has done nothing with, can be stopped too.
func TestLetterStoppedBeforeItIsSent(t *testing.T) {
	reading := make(chan struct{})
	d := atDesk(t, func(_ Wish, o *session.Options) {
		o.Expand = func(ctx context.Context, text string) (string, error) {
			if text == "hello" {
				close(reading)
				<-ctx.Done()
			}
			return text, nil
		}
	}, llmtest.Turn{Parts: []llmtest.Part{{Text: "Answer."}}})
	d.outbox.send("hello", steerNow)
	<-reading
	d.brake.stop()
	d.until("the end of it", func() bool { return !d.work.on && len(d.outbox.outgoing) == 0 })
	if text, said := d.composer.editor.Text(), len(lastMessages(d.session.Log())); text != "hello" || said > 0 {
		t.Errorf("the editor has %q, the session %d messages", text, said)
	}
	d.outbox.send("and on", steerNow)
	d.until("the answer", func() bool { return !d.work.on })
	if said := lastMessages(d.session.Log()); len(said) != 2 {
		t.Errorf("then the session has %d messages", len(said))
	}
}

// What is sent while something runs that it builds on, such as a command of the person's,
// waits for that, even where the session knows nothing of it yet.
func TestLetterWaitsForWhatIsAhead(t *testing.T) {
	d := atDesk(t, nil, llmtest.Turn{Parts: []llmtest.Part{{Text: "Answer."}}})
	let := make(chan struct{})
	d.work.ahead("the command", func(context.Context) (func(), error) { <-let; return nil, nil })
	d.composer.attached = []llm.Block{llm.Image{MIME: "image/png", Data: []byte("p")}}
	d.outbox.send("hello", steerNow)
	if d.work.on || !strings.Contains(d.shown(), "next: hello") {
		t.Errorf("it was sent at once: %v; it shows:\n%s", d.work.on, d.shown())
	}
	close(let)
	d.until("the answer", func() bool { return d.work.busy == "" && !d.work.on && len(d.outbox.waiting) == 0 })
	said := lastMessages(d.session.Log())
	if len(said) != 2 || len(said[0].Content) != 2 {
		t.Errorf("the session has %d messages, %+v", len(said), said)
	}
	d.work.task("something beside", func(ctx context.Context) (func(), error) { <-ctx.Done(); return nil, ctx.Err() })
	if d.outbox.send("go on", steerNow); !d.work.on {
		t.Error("it waits for what it has nothing to do with")
	}
	d.until("the end", func() bool { return !d.work.on })
	d.brake.stop()
	d.until("the end of that", func() bool { return d.work.busy == "" })
}

// What comes back late joins what stands there in the order in which it would have been
// read, not in that in which it came.
func TestLettersComeBackInOrder(t *testing.T) {
	d, free := atWork(t)
	d.outbox.send("slow later", afterWork)
	first := d.outbox.outgoing[len(d.outbox.outgoing)-1]
	d.until("the disk to be asked", func() bool { d.inbox.rouse(); return first.owner.Load() == atSession })
	d.outbox.send("now", steerNow)
	d.outbox.unqueue(false)
	if got := d.composer.editor.Text(); got != "now" {
		t.Errorf("the editor has %q at once", got)
	}
	free()
	d.until("the other", func() bool { return len(d.outbox.outgoing) == 0 })
	if got := d.composer.editor.Text(); got != "now\n\nslow later" {
		t.Errorf("the editor has %q", got)
	}
}
