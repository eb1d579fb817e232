package story_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/robot"
	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/transcript"
)

// The budgets of the face, on an idle machine.
const (
	paintBudget   = 50 * time.Millisecond  // from the start of the process to the prompt
	keyBudget     = 100 * time.Millisecond // and to the first key on the screen
	resumeBudget  = 300 * time.Millisecond // the same, of a session of 100,000 messages
	typeBudget    = 8 * time.Millisecond   // from a key to the screen, 99 of 100
	floodBudget   = 2 * time.Second        // for 200,000 tokens
	idleMemory    = 40 << 20
	longMemory    = 60 << 20 // of a session of 100,000 messages
	floodMemory   = 100 << 20
	spinnerBudget = 0.01 // of a core
	// The goal at 100 tokens a second is 3 % of a core; 2.2 to 3.0 were measured, more on a
	// machine that is busy. Most of it are reads of the connection and Go's scheduler and
	// monitor, which wake for every token.
	paceBudget = 0.04
	budgetRuns = 20
)

// quietMachine reports whether the machine does nothing else, so that time can be
// compared with budgets.
func quietMachine() bool { return os.Getenv("BURIN_BUDGETS") == "1" }

// budgets skips a test of time elsewhere.
func budgets(t *testing.T) {
	t.Helper()
	if !quietMachine() {
		t.Skip("wants a quiet machine: set BURIN_BUDGETS=1")
	}
}

// beside lets a test that waits most of its time run with others, where no time counts.
func beside(t *testing.T) {
	if !quietMachine() {
		t.Parallel()
	}
}

func quiet(o *setting) { o.quiet = true }

func large(o *setting) { o.Width, o.Height, o.Scrollback = 100, 40, 200_000 }

func TestBudgetStart(t *testing.T) {
	budgets(t)
	machine := pacetest.New(t)
	model := serve(t)
	home := filepath.Join(t.TempDir(), "home")
	var paint, first []time.Duration
	for range budgetRuns {
		machine.Look()
		began := time.Now()
		s := beginWith(t, model, quiet, func(o *setting) { o.home = home })
		s.WaitText("›")
		paint = append(paint, time.Since(began))
		s.Type("x")
		s.WaitText("› x")
		first = append(first, time.Since(began))
		s.Press("backspace", "ctrl+d")
		s.WaitEnd()
	}
	within(t, "first paint", paint, 50, machine.Allow(paintBudget))
	within(t, "first key", first, 50, machine.Allow(keyBudget))
}

func TestBudgetMemory(t *testing.T) {
	budgets(t)
	s := beginWith(t, serve(t))
	settle(s)
	u := s.Usage()
	t.Logf("idle: %s of memory, %s at most, %v of processor time", mb(u.RSS), mb(u.Peak), u.CPU)
	if u.RSS >= idleMemory {
		t.Errorf("%s of memory while nothing happens, want less than %s", mb(u.RSS), mb(idleMemory))
	}
}

// settle waits until the program has been still for two seconds.
func settle(s *story) {
	s.t.Helper()
	before, still := s.Usage().Wakeups, 0
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(waitTime); time.Now().Before(end); {
		<-tick.C
		if now := s.Usage().Wakeups; now != before {
			before, still = now, 0
		} else if still++; still == 20 {
			return
		}
	}
	s.t.Error("the program never rests for two seconds")
}

// Nothing runs while nothing happens. Go's own monitor of the program looks once a
// minute, which is two wake-ups of its thread, and is let off.
func TestIdle(t *testing.T) {
	pacetest.Costly(t)
	beside(t)
	const monitor = 2
	span := pacetest.Long(10*time.Second, 10*time.Second, time.Minute)
	dir := t.TempDir()
	_ = exec.Command("git", "-C", dir, "init", "-q").Run() // without git it is a plain folder
	s := beginWith(t, serve(t, newStream([]string{"Good day."})), func(o *setting) { o.dir = dir })
	s.Type("hello\n")
	s.WaitText("Good day.")
	s.WaitGone("Working")
	settle(s)
	before, stats := s.Usage(), s.Stats()
	<-time.After(span)
	u := s.Usage().Sub(before)
	t.Logf("%d wake-ups and %v of processor time in %v", u.Wakeups, u.CPU, span)
	if u.Wakeups > monitor || u.CPU > 10*time.Millisecond {
		t.Errorf("%d wake-ups, %v of processor time", u.Wakeups, u.CPU)
	}
	if d := s.Stats().Bytes - stats.Bytes; d > 0 {
		t.Errorf("%d bytes were written", d)
	}
}

// A spinner turns ten times a second while the model says nothing.
func TestSpinner(t *testing.T) {
	pacetest.Costly(t)
	beside(t)
	span := 3 * time.Second
	if quietMachine() {
		span = 10 * time.Second
	}
	answer := newStream([]string{"Let me think."})
	answer.stall = true
	s := beginWith(t, serve(t, answer))
	s.Type("hello\n")
	s.WaitText("Let me think.")
	began := time.Now()
	before, stats := s.Usage(), s.Stats()
	<-time.After(span)
	u, now := s.Usage().Sub(before), s.Stats()
	span = time.Since(began) // more, where the machine does something else
	part := float64(u.CPU) / float64(span)
	frames := max(now.Frames-stats.Frames, 1)
	each := int(now.Bytes-stats.Bytes) / frames
	t.Logf("%.2f %% of a core, %d wake-ups, %d frames of %d bytes in %v", 100*part, u.Wakeups, frames, each, span)
	if most := int(span/(100*time.Millisecond)) + 2; frames > most || frames < 3 || each > 200 {
		t.Errorf("%d frames of %d bytes, want about %d of less than 200", frames, each, most)
	}
	if quietMachine() && part >= spinnerBudget {
		t.Errorf("the spinner needs %.2f %% of a core, want less than %.0f", 100*part, 100*spinnerBudget)
	}
	s.Press("escape")
	s.WaitGone("Working")
}

// messages writes a session of n messages, condensed after every part as sessions of that
// length are; part 0 is never, so that all of it goes to the model.
func messages(t *testing.T, n, part int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.jsonl", n))
	l, err := transcript.Create(transcript.CreateFile(path), transcript.Header{CWD: "/project", ID: fmt.Sprintf("0199%028d", n)}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	add := func(e transcript.Entry) string {
		id, err := l.Append(e)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	for i := range n / 2 {
		ask := llm.UserText(fmt.Sprintf("Question %d: how is this part of the program meant, and what does it do?", i))
		answer := llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopEnd, Content: []llm.Block{
			llm.Text{Text: fmt.Sprintf("Answer %d. It reads the settings, and **then** the session, because the session stands on them.\n\n- one\n- two\n", i)},
		}}
		first := add(transcript.Entry{Type: transcript.TypeMessage, Message: &ask})
		add(transcript.Entry{Type: transcript.TypeMessage, Message: &answer})
		if part > 0 && i%part == part-1 && i < n/2-1 {
			add(transcript.Entry{Type: transcript.TypeCompaction, Summary: "What was said before.", FirstKeptID: first, TokensBefore: 90_000})
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// keys types n characters one by one and measures each until the screen shows it.
func keys(s *story, n int) []time.Duration {
	s.t.Helper()
	var took []time.Duration
	for i := range n {
		c := "abcdefghijklmnopqrstuvwxy "[i%26]
		// Where the cursor is tells that the character has been drawn.
		var before vt.Cursor
		s.Look(func(t *vt.Terminal) { before = t.Cursor() })
		began := time.Now()
		s.Send([]byte{c})
		s.WaitFor("the key", func(t *vt.Terminal) bool { return t.Cursor() != before })
		took = append(took, time.Since(began))
	}
	return took
}

// A key costs the same in a long session as in a short one.
func TestBudgetKeys(t *testing.T) {
	budgets(t)
	machine := pacetest.New(t)
	for _, tt := range []struct {
		name    string
		n, part int
	}{
		{"10", 10, 0},
		{"100000", 100_000, 1000},
		{"100000 for the model", 100_000, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := messages(t, tt.n, tt.part)
			began := time.Now()
			s := beginWith(t, serve(t), quiet, func(o *setting) { o.args = []string{"--session", path} })
			s.WaitText("›")
			paint := time.Since(began)
			s.Type("x")
			s.WaitText("› x")
			first := time.Since(began)
			early := keys(s, 100) // while the session is being opened
			s.WaitText("Answer " + fmt.Sprint(tt.n/2-1))
			open := time.Since(began)
			settle(s)
			u := s.Usage()
			t.Logf("%d messages: %.1f ms to the prompt, %.1f to the first key, %.1f to the conversation; %s of memory, %s at most, %v of processor time",
				tt.n, ms(paint), ms(first), ms(open), mb(u.RSS), mb(u.Peak), u.CPU)
			if tt.part > 0 && u.RSS >= longMemory {
				t.Errorf("%s of memory, want less than %s", mb(u.RSS), mb(longMemory))
			}
			if most := machine.Allow(resumeBudget); first >= most {
				t.Errorf("%.1f ms to the first key, want less than %.0f", ms(first), ms(most))
			}
			within(t, "keys while it is opened", early, 95, machine.Allow(typeBudget))
			took := keys(s, 300)
			v := s.Usage().Sub(u)
			most := machine.Allow(typeBudget)
			for range 2 { // noise only adds
				if percentile(took, 99) >= most {
					took = keys(s, 300)
				}
			}
			within(t, "keys", took, 99, most)
			t.Logf("%.3f ms of processor time a key", ms(v.CPU)/300)
		})
	}
}

// An answer that comes at full speed. What burin -p needs for it is what the face could
// need at best.
func TestBudgetFlood(t *testing.T) {
	budgets(t)
	tokens, parts := prose(200_000)
	answer := newStream(tokens)
	printed(t, serve(t, answer))
	s := beginWith(t, serve(t, answer), large)
	settle(s)
	took, u := flood(s, tokens, parts)
	if most := pacetest.New(t).Allow(floodBudget); took >= most {
		t.Errorf("%d tokens take %.2f s, want less than %v", len(tokens), took.Seconds(), most)
	}
	if u.Peak >= floodMemory {
		t.Errorf("%s of memory at most, want less than %s", mb(u.Peak), mb(floodMemory))
	}
	settle(s)
	t.Logf("afterwards %s of memory", mb(s.Usage().RSS))
}

// The scrollback holds all of an answer, in order.
func TestFlood(t *testing.T) {
	tokens, parts := prose(20_000)
	s := beginWith(t, serve(t, newStream(tokens)), large)
	flood(s, tokens, parts)
}

// flood waits for an answer of prose, looks whether all of it is there, and gives the time
// it took and what was used.
func flood(s *story, tokens []string, parts int) (time.Duration, robot.Usage) {
	s.t.Helper()
	before, stats := s.Usage(), s.Stats()
	began := time.Now()
	s.Type("go on\n")
	s.WaitText("The end.")
	s.WaitGone("Working")
	took, u, now := time.Since(began), s.Usage(), s.Stats()
	s.t.Logf("%d tokens in %.2f s, %v of processor time; %s of memory, %s at most; %d frames, %.1f bytes a token", len(tokens), took.Seconds(),
		u.Sub(before).CPU, mb(u.RSS), mb(u.Peak), now.Frames-stats.Frames, float64(now.Bytes-stats.Bytes)/float64(len(tokens)))
	whole(s, parts)
	return took, u
}

// whole looks whether all of prose is there.
func whole(s *story, parts int) {
	s.t.Helper()
	s.Look(func(t *vt.Terminal) {
		if t.Lost() > 0 {
			s.t.Errorf("the terminal dropped %d rows: give it a longer scrollback", t.Lost())
		}
		if missing := inOrder(t.All(), parts); missing != "" {
			s.t.Errorf("the terminal does not hold %s where it belongs", missing)
		}
	})
}

// printed lets burin -p ask.
func printed(t *testing.T, model *llmtest.Server) {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command(os.Getenv(programVariable), "-p", "go on", "--model", "anthropic/claude-opus-4-5", "--base-url", model.URL, "--api", "anthropic-messages")
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + home, "BURIN_HOME=" + home, "BURIN_NO_KEYRING=1", "ANTHROPIC_API_KEY=k", "PATH=" + os.Getenv("PATH")}
	began := time.Now()
	out, err := cmd.Output()
	if err != nil || !bytes.Contains(out, []byte("The end.")) {
		t.Fatalf("burin -p: %v, %d bytes", err, len(out))
	}
	t.Logf("burin -p: %.2f s, %v of processor time", time.Since(began).Seconds(), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
}

// An answer at the speed of models costs a frame for several tokens.
func TestPace(t *testing.T) {
	pacetest.Costly(t)
	beside(t)
	length := 300
	if quietMachine() {
		length = 1000
	}
	tokens, parts := prose(length)
	answer := newStream(tokens)
	answer.pace = 10 * time.Millisecond
	s := beginWith(t, serve(t, answer), large)
	s.Type("go on\n")
	s.WaitText("Part 1")
	began := time.Now()
	before, stats := s.Usage(), s.Stats()
	s.WaitText("The end.")
	u, now := s.Usage().Sub(before), s.Stats()
	took := time.Since(began)
	whole(s, parts)
	part := float64(u.CPU) / float64(took)
	n := float64(len(tokens))
	frames, bytes := float64(now.Frames-stats.Frames)/n, float64(now.Bytes-stats.Bytes)/n
	t.Logf("%.0f tokens a second: %.2f %% of a core, %.2f wake-ups, %.2f frames and %.1f bytes a token", n/took.Seconds(), 100*part,
		float64(u.Wakeups)/n, frames, bytes)
	if most := took.Seconds()*31/n + 0.05; frames > most || bytes > 400 {
		t.Errorf("%.2f frames and %.1f bytes a token, want at most %.2f and 400", frames, bytes, most)
	}
	if quietMachine() && part >= paceBudget {
		t.Errorf("%.2f %% of a core, want less than %.0f", 100*part, 100*paceBudget)
	}
}

// within compares a percentile of what was measured with its budget.
func within(t *testing.T, what string, took []time.Duration, part int, budget time.Duration) {
	t.Helper()
	at := percentile(took, part)
	t.Logf("%s: %.2f ms, %d of 100 (median %.2f, from %.2f to %.2f) of %.1f", what, ms(at), part, ms(took[len(took)/2]), ms(took[0]), ms(took[len(took)-1]), ms(budget))
	if at >= budget {
		t.Errorf("%s takes %.2f ms, want less than %.1f", what, ms(at), ms(budget))
	}
}

// percentile sorts times and gives the one that part of 100 do not exceed.
func percentile(took []time.Duration, part int) time.Duration {
	slices.Sort(took)
	return took[(len(took)*part+99)/100-1]
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func mb(n int64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/(1<<20)), ".0") + " MB"
}
