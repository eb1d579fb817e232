// Package story_test tells what people do with burin in a terminal, one behaviour a
// file. The real program runs in an emulated terminal; only the model is scripted.
package story_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/robot"
	"github.com/burin-dev/burin/internal/mode/tui/vt"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/lsp/lsptest"
	"github.com/burin-dev/burin/internal/platform/mcp/mcptest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

func TestMain(m *testing.M) {
	lsptest.Main()
	mcptest.Main()
	robot.Flag()
	flag.Parse()
	// Stories wait most of their time: more of them than cores at a time.
	if err := flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	// Where these tests run under nohup, what they start would ignore the end of its
	// terminal as they do; a signal that is caught here is theirs again.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	dir, err := workshop()
	if err == nil {
		os.Setenv("TMPDIR", dir) //nolint:errcheck // a name without "=" is good
		err = build(filepath.Join(dir, "burin"))
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, "build burin for its stories:", err)
	}
	_ = os.RemoveAll(dir) // what cannot be removed is only in the way
	os.Exit(code)
}

// workshop is the folder of all stories. It is not among temporary files: those are
// open to commands, and burin would say of each story that its home is, too.
func workshop() (string, error) {
	cache, err := os.UserCacheDir()
	if err == nil {
		err = os.MkdirAll(cache, 0o700)
	}
	if err != nil {
		cache = "" // temporary files then
	}
	return os.MkdirTemp(cache, "burin-story-")
}

// build makes the program, unless the environment names one that was built otherwise,
// such as with -race.
func build(file string) error {
	if os.Getenv(programVariable) != "" {
		return nil
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", file, "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	return os.Setenv(programVariable, file)
}

// waitTime limits every wait. It is long, because a machine may do much else meanwhile,
// and costs nothing where what is waited for happens.
const waitTime = time.Minute

// program is the file of burin.
func program(t *testing.T) string {
	t.Helper()
	return os.Getenv(programVariable)
}

// programVariable names the program to the tests: a package has no state here.
const programVariable = "STORY_PROGRAM"

// story is a person at a terminal, with a model that says what it is told to.
type story struct {
	*robot.Robot
	t     *testing.T
	model *llmtest.Server
	dir   string // where burin works
	home  string // of burin
	away  bool   // another process owns the session
}

// setting is what is different from the usual.
type setting struct {
	robot.Options
	args   []string
	bare   bool              // args are all there are
	config string            // config.yml
	files  map[string]string // of the project
	home   string            // of an earlier story
	dir    string
	quiet  bool // do not wait until the session is open
	first  bool // nothing is set up yet
	noKey  bool // no model can be asked
	shell  bool // burin is a job of a shell
	// program is another one than the usual.
	program string
}

// begin starts burin with a scripted model.
func begin(t *testing.T, turns []llmtest.Turn, with ...func(*setting)) *story {
	t.Helper()
	model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	return beginWith(t, model, with...)
}

func beginWith(t *testing.T, model *llmtest.Server, with ...func(*setting)) *story {
	t.Helper()
	o := setting{Options: robot.Options{Timeout: waitTime, Reflow: true}}
	for _, f := range with {
		f(&o)
	}
	o.prepare(t, model)
	args := append([]string{"--model", "anthropic/claude-opus-4-5"}, o.args...)
	if o.bare {
		args = o.args
	}
	s := &story{t: t, model: model, dir: o.dir, home: o.home}
	t.Cleanup(func() {
		if trace, err := os.ReadFile(filepath.Join(o.home, "logs", "terminal.log")); err == nil && len(trace) > 0 {
			t.Errorf("burin crashed:\n%s", trace)
		}
	})
	program := o.program
	if program == "" {
		program = os.Getenv(programVariable)
	}
	if o.shell {
		o.Env = append(o.Env, "PS1=SHELL$ ")
		s.Robot = robot.Start(t, o.Options, "bash", "--norc", "--noprofile", "-i")
		s.WaitText("SHELL$")
		s.send(program + " " + strings.Join(args, " "))
	} else {
		if o.overSocket() {
			args, s.away = []string{"attach", s.ownElsewhere(o, args)}, true
		}
		s.Robot = robot.Start(t, o.Options, program, args...)
	}
	t.Cleanup(func() {
		if t.Failed() { // the robot shows what is left when the program is gone
			t.Logf("the screen:\n%s", s.Text())
		}
	})
	if o.shell { // which shows the name of the model, too
		s.WaitText("Ask anything")
		s.WaitText("% context")
	}
	if !o.quiet {
		s.WaitText("opus-4-5")
	}
	return s
}

// prepare makes the files that burin finds, and its environment.
func (o *setting) prepare(t *testing.T, model *llmtest.Server) {
	t.Helper()
	if o.home == "" {
		o.home = filepath.Join(t.TempDir(), "home")
	}
	user := filepath.Dir(o.home)
	if o.dir == "" {
		o.dir = filepath.Join(user, "project")
	}
	if !o.first {
		write(t, filepath.Join(o.home, "config.yml"), "startup:\n  setupWizard: false\n"+o.config)
	}
	key := ""
	if !o.noKey {
		key = "k"
		write(t, filepath.Join(o.home, "models.yml"), "providers: {anthropic: {baseUrl: '"+model.URL+"', apiKey: k, api: anthropic-messages}}\n")
	}
	write(t, filepath.Join(o.dir, "README.md"), "# A project\n")
	write(t, filepath.Join(user, "tmp", "empty"), "")
	for name, text := range o.files {
		write(t, filepath.Join(o.dir, name), text)
	}
	o.Options.Dir = o.dir
	o.Env = append(o.Env,
		"HOME="+user, "TMPDIR="+filepath.Join(user, "tmp"), "BURIN_HOME="+o.home, "BURIN_NO_KEYRING=1", "ANTHROPIC_API_KEY="+key,
		"OLLAMA_HOST=http://127.0.0.1:1", "LLAMA_CPP_BASE_URL=http://127.0.0.1:1", "LM_STUDIO_BASE_URL=http://127.0.0.1:1")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// read is a file of the project.
func (s *story) read(name string) string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// say is an answer of one text.
func say(text string) llmtest.Turn { return llmtest.Turn{Parts: []llmtest.Part{{Text: text}}} }

// call is an answer that calls a tool.
func call(tool, args string) llmtest.Turn {
	return llmtest.Turn{Parts: []llmtest.Part{{Call: tool, Args: args}}}
}

// same replaces what differs between runs.
func (s *story) same() *strings.Replacer {
	return strings.NewReplacer(s.dir, "/project", s.home, "/home", "burin devel", "burin")
}

// send sends a prompt.
func (s *story) send(text string) { s.Type(text + "\n") }

// answer presses keys in a question. A question hears none for a moment after it
// appeared, and no Enter right behind words, so that nobody answers by accident; a person
// reads in that time.
func (s *story) answer(keys ...string) {
	<-time.After(350 * time.Millisecond)
	s.Press(keys...)
}

// took checks a time that people would notice. On a machine that does something else
// meanwhile it only tells what takes its time from what never ends.
func (s *story) took(what string, began time.Time, limit time.Duration) {
	s.t.Helper()
	limit = pacetest.Within(limit)
	if took := time.Since(began); took > limit {
		s.t.Errorf("%s took %v, want at most %v", what, took, limit)
	}
}

// all is everything that was said, above the screen and on it.
func (s *story) all() (text string) {
	s.Look(func(t *vt.Terminal) { text = strings.Join(t.All(), "\n") })
	return text
}

// sees waits until texts are on the screen or above it, and reports what never is.
func (s *story) sees(texts ...string) {
	s.t.Helper()
	s.becomes(func() (wrong string) {
		all := s.all()
		for _, text := range texts {
			if !strings.Contains(all, text) {
				wrong += fmt.Sprintf("%q is not there\n", text)
			}
		}
		return wrong
	})
}

// becomes waits until nothing is wrong any more and reports what still is: for what needs
// more than one frame to be right, and for files, which tell nobody that they changed.
func (s *story) becomes(wrong func() string) {
	s.t.Helper()
	if found := eventually(wrong); found != "" {
		s.t.Errorf("%s\non the screen and above it:\n%s", found, s.all())
	}
}

// eventually gives what is wrong in the end, "" as soon as nothing is.
func eventually(wrong func() string) string {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(waitTime); ; <-tick.C {
		if found := wrong(); found == "" || time.Now().After(end) {
			return found
		}
	}
}

// Golden waits until the screen is as in the file: what was waited for before may be
// drawn a frame earlier than the rest.
func (s *story) Golden(name string, change ...*strings.Replacer) {
	s.t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", name+".golden"))
	if f := flag.Lookup("update"); err == nil && f.Value.String() != "true" {
		eventually(func() string {
			got := s.Dump()
			for _, c := range change {
				got = c.Replace(got)
			}
			if got != string(want) {
				return "the screen differs"
			}
			return ""
		})
	}
	s.Robot.Golden(name, change...)
}

// still waits until nothing was drawn for half a second.
func (s *story) still() {
	s.t.Helper()
	last, since := s.Stats().Bytes, time.Now()
	s.becomes(func() string {
		if now := s.Stats().Bytes; now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < 500*time.Millisecond {
			return "something is drawn again and again"
		}
		return ""
	})
}

// request is what the model was sent with a request, from 0; below 0 from the last.
func (s *story) request(n int) *llm.Request {
	s.t.Helper()
	all := s.model.Requests()
	if n < 0 {
		n += len(all)
	}
	if n < 0 || n >= len(all) {
		s.t.Fatalf("there is no request %d of %d", n, len(all))
	}
	return all[n]
}

// heard is the text of all messages of a request.
func (s *story) heard(n int) string {
	s.t.Helper()
	var b strings.Builder
	for _, m := range s.request(n).Messages {
		fmt.Fprintf(&b, "[%s] ", m.Role)
		for _, c := range m.Content {
			switch c := c.(type) {
			case llm.Text:
				b.WriteString(c.Text)
			case llm.ToolCall:
				b.WriteString(c.Name + c.Arguments)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// gate holds an answer back until it is opened.
type gate struct {
	llmtest.Turn
	asked chan struct{} // closed when the model was asked
	open  func()
}

// wait waits until the model was asked.
func (g gate) wait(t *testing.T) {
	t.Helper()
	select {
	case <-g.asked:
	case <-time.After(waitTime):
		t.Fatal("the model was not asked")
	}
}

// gated is an answer that the model begins when the gate is opened.
func gated(text string) gate {
	asked, opened := make(chan struct{}), make(chan struct{})
	return gate{
		asked: asked, open: sync.OnceFunc(func() { close(opened) }),
		Turn: llmtest.Turn{Reply: func(*llm.Request) []llm.Event {
			close(asked)
			<-opened
			return llmtest.Say(text)
		}},
	}
}

// words are n words that can be told apart.
func words(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "word%d ", i)
	}
	return b.String() + "end."
}

// twiceSaid waits until text stands there twice: a session was opened that shows it.
func twiceSaid(text string) func(*vt.Terminal) bool {
	return func(t *vt.Terminal) bool { return strings.Count(strings.Join(t.All(), "\n"), text) >= 2 }
}

// sessions are the files of the sessions that are kept.
func (s *story) sessions() []string {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.home, "sessions", "*", "*.jsonl"))
	if err != nil {
		s.t.Fatal(err)
	}
	return files
}

// look gives the title of the terminal and whether the alternate screen is shown.
func (s *story) look(f func(title string, alternate bool)) {
	s.Look(func(t *vt.Terminal) { f(t.Title(), t.Alternate()) })
}
