package story_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A monkey presses keys, pastes, resizes and sends garbage, while a model that has lost
// its mind streams text, thinking and calls of all tools. burin lives until it is told to
// quit, writes nothing that the terminal does not know, has no data race where that can
// be found out, and gives the terminal back.
//
// With BURIN_LONG=ci the program looks for data races; with BURIN_LONG=1 it plays for minutes,
// too. BURIN_SEED repeats a game.
func TestMonkey(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes its time")
	}
	playFor, games := pacetest.Long(5*time.Second, 5*time.Second, time.Minute), pacetest.Long(1, 3, 5)
	seed := uint64(20261122)
	if s, err := strconv.ParseUint(os.Getenv("BURIN_SEED"), 10, 64); err == nil {
		seed, games = s, 1
	} else if os.Getenv("BURIN_LONG") == "1" {
		seed = uint64(time.Now().UnixNano())
	}
	program := pacetest.Long(usual, racing, racing)(t)
	for i := range games {
		t.Run(fmt.Sprint("seed ", seed+uint64(i)), func(t *testing.T) {
			playMonkey(t, program, seed+uint64(i), playFor)
		})
	}
}

// usual is the program of all stories.
func usual(*testing.T) string { return os.Getenv(programVariable) }

// racing builds the program so that it finds data races of its own; where that cannot be
// done, it is the usual one.
func racing(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "burin")
	build := exec.Command("go", "build", "-race", "-o", program, "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Logf("without the race detector: %v\n%.500s", err, out)
		return usual(t)
	}
	return program
}

// monkey is who plays.
type monkey struct {
	*story
	rnd    *rand.Rand
	did    []string // the last things it did
	panics string   // the folder of the race detector's reports
}

// playMonkey plays one game. When the monkey finds a way to quit, it begins anew.
func playMonkey(t *testing.T, program string, seed uint64, playFor time.Duration) {
	model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: madTurns(seed, 3000)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	races := t.TempDir()
	m := &monkey{rnd: rand.New(rand.NewPCG(seed, 1)), panics: races}
	var home, dir string
	begin := func(args ...string) {
		m.story = beginWith(t, model, func(o *setting) {
			o.program, o.home, o.dir, o.quiet, o.args = program, home, dir, true, args
			o.Reflow = m.rnd.IntN(2) == 0
			o.Env = append(o.Env, "GORACE=log_path="+filepath.Join(races, "race")+" exitcode=0", "EDITOR=true", "BROWSER=true",
				"HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1") // nothing leaves this machine
			o.files = map[string]string{"a b.txt": "words\n", "evil\x1b]0;pwned\x07.txt": "x\n", "\u202egnp.exe": "y\n"}
		})
		home, dir = m.home, m.dir
		m.WaitFor("the program", func(t *vt.Terminal) bool { return t.Mode(2004) })
	}
	begin()
	for end := time.Now().Add(playFor); time.Now().Before(end); {
		for range 20 {
			if m.gone() {
				break
			}
			m.step()
			<-time.After(time.Duration(m.rnd.IntN(20)) * time.Millisecond)
		}
		if m.gone() {
			m.left()
			begin([][]string{nil, {"--continue"}}[m.rnd.IntN(2)]...)
			continue
		}
		m.lives()
	}
	m.quits()
	m.left()
}

// gone reports whether the program has ended, or is about to: it has given the terminal
// back, and what is typed now is not for it.
func (m *monkey) gone() bool {
	for began := time.Now(); ; <-time.After(5 * time.Millisecond) {
		var taken bool
		m.Look(func(t *vt.Terminal) { taken = t.Mode(2004) })
		switch {
		case m.dead():
			return true
		case taken:
			return false
		case time.Since(began) > waitTime: // else it was suspended, or an editor was shown
			return true
		}
	}
}

// dead reports whether there is no such process any more.
func (m *monkey) dead() bool {
	return m.Signal(syscall.Signal(0)) != nil || strings.HasPrefix(stateOf(m.PID()), "Z")
}

// stateOf is how the system sees a process.
func stateOf(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, state, _ := strings.Cut(string(b), ") ")
	return state
}

// lives checks that the program still draws, and nothing that is not known.
func (m *monkey) lives() {
	m.t.Helper()
	before := m.Stats().Frames
	w := 60 + m.rnd.IntN(40)
	m.Look(func(t *vt.Terminal) {
		if now, _ := t.Size(); now == w {
			w++
		}
	})
	m.Resize(w, 24)
	limit := time.After(waitTime)
	for m.Stats().Frames == before && !m.gone() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-limit:
			_ = m.Signal(syscall.SIGQUIT)
			m.WaitEnd()
			m.t.Fatalf("it draws nothing any more, after %q", m.did)
		}
	}
	m.clean()
}

// clean checks what the terminal was sent.
func (m *monkey) clean() {
	m.t.Helper()
	m.Look(func(t *vt.Terminal) {
		if u := t.Unknown(); len(u) > 0 {
			m.t.Errorf("the terminal does not know %q, after %q", u, m.did)
		}
		if strings.Contains(t.Title(), "pwned") {
			m.t.Errorf("the title is %q", t.Title())
		}
		if string(t.Clipboard()) == "pwned" {
			m.t.Errorf("the clipboard holds %q", t.Clipboard())
		}
	})
	if m.t.Failed() {
		m.t.FailNow()
	}
}

// quits presses what quits until the program has ended. A paste whose end was never sent
// is ended by a Ctrl+C after a silence.
func (m *monkey) quits() {
	m.t.Helper()
	m.lives()
	for range 20 {
		<-time.After(1200 * time.Millisecond)
		for _, key := range []string{"\x03", "\x1b", "\x1b", "\x03", "\x03"} {
			if m.gone() {
				return
			}
			m.Send([]byte(key))
			<-time.After(60 * time.Millisecond)
		}
	}
	last := m.Text()
	_ = m.Signal(syscall.SIGQUIT)
	m.WaitEnd()
	m.t.Fatalf("it cannot be quit, after %q; the screen:\n%s", m.did, last)
}

// left checks what is left behind.
func (m *monkey) left() {
	m.t.Helper()
	began := time.Now()
	if code := m.WaitEnd(); code != 0 {
		m.t.Errorf("it ended with %d, after %q:\n%s", code, m.did, m.all())
	}
	m.took(fmt.Sprintf("ending, after %q,", m.did), began, 3*time.Second)
	m.clean()
	m.restored()
	reports, err := filepath.Glob(filepath.Join(m.panics, "race*"))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, r := range reports {
		text, _ := os.ReadFile(r)
		m.t.Errorf("a data race:\n%s", text)
	}
	if m.t.Failed() {
		m.t.FailNow()
	}
}

// restored checks that the terminal is as it was.
func (s *story) restored() {
	s.t.Helper()
	s.Look(func(term *vt.Terminal) {
		kitty, other := term.Keyboard()
		if term.Mode(2004) || term.Mode(1004) || term.Mode(2031) || !term.Mode(7) || term.Synchronized() || term.Alternate() || term.Cursor().Hidden || kitty != 0 || other != 0 {
			s.t.Errorf("paste %v, focus %v, scheme %v, wrap %v, frame %v, alternate %v, hidden %v, keyboard %d %d: want nothing of it, but wrap",
				term.Mode(2004), term.Mode(1004), term.Mode(2031), term.Mode(7), term.Synchronized(), term.Alternate(), term.Cursor().Hidden, kitty, other)
		}
	})
}

// step does one thing.
func (m *monkey) step() {
	r := m.rnd
	var what string
	send := func(s string) {
		what = s
		m.Send([]byte(s))
	}
	switch n := r.IntN(100); {
	case n < 25:
		send(pick(r, monkeyKeys))
	case n < 32:
		for range 1 + r.IntN(8) { // the same key held down
			what = pick(r, monkeyKeys)
		}
		send(strings.Repeat(what, 1+r.IntN(8)))
	case n < 45:
		send(pick(r, monkeyWords) + pick(r, []string{" ", "", "\r", "\x1b\r"}))
	case n < 60:
		send("\x1b\x1b" + "\x15" + pick(r, monkeyCommands) + "\r")
	case n < 68:
		send(pick(r, monkeyWords) + "\r")
	case n < 74:
		send("\x1b[200~" + pick(r, monkeyPastes) + "\x1b[201~")
	case n < 80:
		w, h := 1+r.IntN(150), 1+r.IntN(50)
		if r.IntN(4) == 0 {
			w, h = 1+r.IntN(4), 1+r.IntN(4)
		}
		what = fmt.Sprintf("%dx%d", w, h)
		m.Resize(w, h)
	case n < 86:
		send(pick(r, []string{"\x1b[I", "\x1b[O", "\x1b[?997;1n", "\x1b[?997;2n", "\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b]11;rgb:0/0/0\x07", "\x1b[?62;4c", "\x1b[6;20;10t", "\x1b[?1u", "\x1b[?2026;2$y"}))
	case n < 92:
		b := make([]byte, 1+r.IntN(40))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		send(strings.NewReplacer("\x1a", "", "!", "").Replace(string(b)))
	default:
		send(pick(r, []string{"\x1b[", "\x1b]", "\x1bP", "\x1bO", "\x1b_"}) + strconv.Itoa(r.IntN(3000)) + ";" + strconv.Itoa(r.IntN(300)) + pick(r, []string{"u", "~", "R", "m", "\x1b\\", "\x07", "", "A", "t", "y"}))
	}
	m.did = append(m.did, what)
	m.did = m.did[max(0, len(m.did)-60):]
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

var (
	monkeyKeys = strings.Fields("\x1b[A \x1b[B \x1b[C \x1b[D \x1b[H \x1b[F \x1b[5~ \x1b[6~ \x1b[3~ \x1b[Z \x1bOA \x1bOB " +
		"\x01 \x02 \x04 \x05 \x06 \x07 \x08 \x0b \x0c \x0e \x0f \x10 \x11 \x12 \x13 \x14 \x15 \x16 \x17 \x18 \x19 \x1a \x1b \x7f " +
		"\x1bo \x1bp \x1bP \x1by \x1bb \x1bf \x1bd \x1b\x7f \x1b[1;3A \x1b[1;5C \x1b[1;5D \x1b[13;5u \x1b[13;2u \x1b[27;5;13~ \x1b[80;4u " +
		"y n a 1 2 3 4 5 / @ ! ? q j k g G é 😀 日本 \u202e \u200b \u0301 \x1bh \x1bL \x1bC \x1b[122;6u")
	monkeyWords = []string{
		"hello", "x", "fix the test", "@", "@a", "@README.md look", "日本語のテキスト", "multi\x1b\rline", "!echo hi", "!!printf '\\033]0;pwned\\007\\033[2J'",
		"!sleep 2", "!seq 3000", "!yes | head -c 200000", "go on", "/", "/mo", "!kill $$", "!cat /dev/urandom | head -c 3000", "y", "1", "\x1b[201~",
	}
	monkeyCommands = []string{
		"/new", "/resume", "/tree", "/branch", "/fork", "/rename", "/rename \u202etitle", "/transcript", "/session", "/compact", "/compact x", "/shake", "/shake images",
		"/handoff", "/handoff next", "/pin words", "/unpin", "/unpin words", "/export", "/export ../x.html", "/dump", "/copy", "/copy code", "/drop", "/retry", "/btw why?", "/plan",
		"/mode", "/mode full", "/mode ask", "/permissions", "/tools", "/todo", "/todo append a: b", "/todo done b", "/todo edit", "/jobs", "/undo", "/queue", "/model",
		"/model anthropic/claude-haiku-4-5", "/model nonsense", "/thinking", "/thinking high", "/login", "/logout", "/cost", "/context", "/help", "/hotkeys", "/history",
		"/settings", "/settings theme", "/theme", "/theme nonsense", "/setup", "/doctor", "/import", "/unknown", "/move",
	}
	monkeyPastes = []string{
		"one line", "two\nlines", strings.Repeat("many lines\n", 200), strings.Repeat("long ", 20000), "\x1b]0;pwned\x07", "\x00\x01\x02\x7f", "/etc/passwd", "'/tmp/a b.png'",
		"\u202eabc\u200b", "y", "\r", "\ty\n", "",
	}
)

// madTurns are answers of a model that has lost its mind.
func madTurns(seed uint64, n int) []llmtest.Turn {
	r := rand.New(rand.NewPCG(seed, 2))
	turns := make([]llmtest.Turn, n)
	var mu sync.Mutex // requests may come at the same time
	for i := range turns {
		turns[i] = llmtest.Turn{
			Pace: time.Duration(r.IntN(4)) * time.Millisecond * time.Duration(r.IntN(2)),
			Reply: func(*llm.Request) []llm.Event {
				mu.Lock()
				defer mu.Unlock()
				return madAnswer(r)
			},
		}
		f := &turns[i].Fault
		switch r.IntN(24) {
		case 0:
			f.StallAfterEvents = 1 + r.IntN(30)
		case 1:
			f.CutAfterBytes = 1 + r.IntN(3000)
		case 2:
			f.MalformedAfterEvents = 1 + r.IntN(20)
		case 3:
			f.Error = &llm.Error{Kind: llm.ErrOverload, Message: "busy \x1b]0;pwned\x07\x1b[2J\u202e", RetryAfter: time.Second}
		case 4:
			f.Error = &llm.Error{Kind: llm.ErrInvalidRequest, Message: "no\nway \x1b[31m"}
		case 5:
			f.Drop = true
		case 6:
			f.StallHead = true
		case 7:
			f.Error = &llm.Error{Kind: llm.ErrAuth, Message: "key"}
		}
	}
	return turns
}

func madAnswer(r *rand.Rand) []llm.Event {
	var out []llm.Event
	for k := range 1 + r.IntN(4) {
		switch r.IntN(4) {
		case 0:
			out = append(out, llmtest.Think(madText(r), "s")...)
		case 1, 2:
			out = append(out, llmtest.Say(madText(r))...)
		default:
			for j := range 1 + r.IntN(5) {
				out = append(out, llmtest.Call(fmt.Sprintf("c%d_%d_%d", r.Uint32(), k, j), pick(r, madTools), pick(r, madArgs))...)
			}
		}
	}
	if r.IntN(20) == 0 {
		out = append(out, llmtest.Fail(&llm.Error{Kind: llm.ErrOverload, Message: "in the \x1b[5A middle"})...)
	}
	return out
}

var (
	madTools = []string{"bash", "read", "ls", "grep", "find", "write", "edit", "todo", "ask", "calc", "fetch", "undo_edit", "job_list", "history", "web_search", "no\x1b[2Jtool", "\u202eloot"}
	madArgs  = []string{
		`{}`, `{"command":"echo hi"}`, `{"command":"printf '\\033[2J\\033]0;pwned\\007'; seq 200"}`, `{"command":"sleep 1","background":true}`, `{"command":"sleep 3"}`,
		`{"path":"README.md"}`, `{"path":"a b.txt"}`, `{"path":"../../etc/passwd"}`, `{"path":"new\u001b[2J.txt","content":"hello\u001b]0;pwned\u0007\n"}`, `{"pattern":"wor.*"}`, `{"pattern":"*"}`,
		`{"path":`, `nonsense`, `[]`, `{"path":42}`, `{"expression":"1+1"}`, `{"url":"http://127.0.0.1:1/"}`, `{"query":"x"}`, `{"id":"j1"}`,
		`{"questions":[{"question":"Really\u001b[2J?","options":[{"label":"Yes\u202e"},{"label":"No"}]}]}`, `{"command":"ls \u202e; rm -rf x"}`,
		`{"todos":[{"content":"do\u001b[2J it","status":"pending"}]}`, `{"command":"` + strings.Repeat("echo long; ", 300) + `"}`,
	}
	madPieces = []string{
		"word ", "\n", "\n\n", "```go\n", "```\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "- item\n", "  - deep\n", "# head\n", "> quote\n", "**bold** ", "`code` ", "$x^2$ ", "[link](http://x.y) ",
		"[l](javascript:\x1b]0;pwned\x07) ", "\x1b[2J", "\x1b]0;pwned\x07", "\x1b]52;c;cHduZWQ=\x07", "\x1b[?1049h", "\u202e", "\u200b", "\u0301", "日本", "😀", "👩‍👩‍👧‍👦", "\t", "\r", "\x00", "\x9b2J", "|", strings.Repeat("x", 300),
		"\x1b[31m", "Allow? [y/n] ", strings.Repeat("| ", 100) + "\n", "<b>html</b> ", "~~~\n", "\\", "*", "_",
	}
)

func madText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(120) {
		if r.IntN(2) == 0 {
			b.WriteString("word ")
			continue
		}
		b.WriteString(pick(r, madPieces))
	}
	return b.String() + "."
}
