package robot_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/robot"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/vt"
)

// The test binary is the program under test when it is started with one of these.
func TestMain(m *testing.M) {
	switch os.Getenv("ROBOT_PROGRAM") {
	case "":
		robot.Flag()
		os.Exit(m.Run())
	case "face":
		face()
	case "query":
		query()
	case "busy":
		sum := 0
		for i := range 300_000_000 { // some 100 ms
			sum ^= i
		}
		fmt.Println("done", sum != 0)
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	}
}

// face is a program that draws as burin does: what is entered is committed.
func face() {
	s := screen.New(os.Stdout, screen.Options{Width: 40, Height: 8, Sync: true, Reflow: true})
	in := bufio.NewReader(os.Stdin)
	for i := 1; ; i++ {
		prompt := fmt.Sprintf("\x1b[36m%d>\x1b[m ", i)
		_ = s.Draw([]string{strings.Repeat("─", 30), prompt}, screen.Cursor{X: 3, Y: 1})
		line, err := in.ReadString('\r')
		if err != nil || line[0] == 4 {
			break
		}
		_ = s.Commit([]string{"you: " + strings.TrimSuffix(line, "\r")})
	}
	_ = s.Suspend()
	fmt.Println("bye")
}

// query asks the terminal and prints what it answers.
func query() {
	fmt.Print("\x1b[c")
	answer, _ := bufio.NewReader(os.Stdin).ReadString('c')
	fmt.Printf("\r\nanswer %q\r\n", answer)
}

// quiet starts a program of this file in a terminal without echo.
func quiet(t *testing.T, program string, o robot.Options) *robot.Robot {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Env = append(o.Env, "ROBOT_PROGRAM="+program)
	return robot.Start(t, o, need(t, "sh"), "-c", `stty -icanon -echo -icrnl; exec "$0"`, exe)
}

func self(t *testing.T, program string, o robot.Options) *robot.Robot {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Env = append(o.Env, "ROBOT_PROGRAM="+program)
	return robot.Start(t, o, exe)
}

func need(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

func TestFace(t *testing.T) {
	r := quiet(t, "face", robot.Options{Width: 40, Height: 8, Reflow: true})
	r.WaitText("1>")
	r.Golden("face-start")
	for i, word := range strings.Fields("one two three four five six seven eight nine") {
		r.Type(word + "\n")
		r.WaitText(fmt.Sprintf("%d>", i+2))
	}
	r.Golden("face-scrolled")
	frames := r.Stats().Frames
	r.Type("x\n")
	r.WaitText("11>")
	if n := r.Stats().Frames - frames; n != 1 {
		t.Errorf("%d frames for one line, want 1", n)
	}
	r.Press("ctrl+d", "enter")
	if code := r.WaitEnd(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.Look(func(term *vt.Terminal) {
		var got []string
		for _, l := range term.All() {
			if strings.HasPrefix(l, "you: ") {
				got = append(got, l)
			}
		}
		want := []string{"you: one", "you: two", "you: three", "you: four", "you: five", "you: six", "you: seven", "you: eight", "you: nine", "you: x"}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if u := term.Unknown(); len(u) > 0 {
			t.Errorf("unknown sequences %v", u)
		}
	})
}

func TestBash(t *testing.T) {
	r := robot.Start(t, robot.Options{Width: 50, Height: 10}, need(t, "bash"), "--norc", "--noprofile")
	r.WaitText("$")
	r.Type("echo a$((40+2))b; printf '\\e[1;31mred\\e[m\\n'\n")
	r.WaitText("a42b")
	r.WaitText("\nred\n$")
	r.Resize(70, 12)
	r.Type("echo size $(stty size)\n")
	r.WaitText("\nsize 12 70\n$")
	r.Paste("echo one\necho two") // bash asks for brackets, and runs nothing by itself
	r.WaitText("$ echo one\necho two")
	r.Press("enter")
	r.WaitText("\none\ntwo\n$")
	r.Type("sh -c 'echo ready; exec sleep 1000'\n")
	r.WaitText("\nready")
	r.Press("ctrl+c")
	r.WaitText("^C\n$")
	r.Type("exit 7\n")
	if code := r.WaitEnd(); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
}

func TestAnswers(t *testing.T) {
	r := quiet(t, "query", robot.Options{})
	r.WaitText(`answer "\x1b[?62;22;52c"`)
}

// What a program that does nothing costs is nothing; one that runs is seen.
func TestUsage(t *testing.T) {
	r := robot.Start(t, robot.Options{}, need(t, "cat"))
	r.Type("x\n")
	r.WaitText("x\nx")
	before := r.Usage()
	if before.RSS == 0 || before.Peak < before.RSS {
		t.Errorf("memory %+v", before)
	}
	r.Type("y\n")
	r.WaitText("y\ny")
	n := r.Usage().Sub(before).Wakeups
	for end := time.Now().Add(time.Minute); n < 1 && time.Now().Before(end); { // it is counted when cat sleeps again
		<-time.After(time.Millisecond)
		n = r.Usage().Sub(before).Wakeups
	}
	if n < 1 || n > 5 {
		t.Errorf("%d wake-ups for a line, want 1 to 5", n)
	}

	busy := self(t, "busy", robot.Options{})
	busy.WaitText("done")
	if cpu := busy.Usage().CPU; cpu < 30*time.Millisecond {
		t.Errorf("a busy program used %v", cpu)
	}
}

func TestPicture(t *testing.T) {
	r := robot.Start(t, robot.Options{Width: 30, Height: 4}, need(t, "cat"))
	r.Type("hello\n")
	r.WaitText("hello\nhello")
	path := filepath.Join(t.TempDir(), "hello.png")
	r.Picture(path, vt.PictureOptions{Title: "cat"})
	data, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(data), "\x89PNG") {
		t.Errorf("no picture: %v", err)
	}
}

// fake takes the failure of a robot, which is a test of its own here.
type fake struct {
	*testing.T
	failed string
}

func (f *fake) Fatalf(format string, a ...any) {
	f.failed = fmt.Sprintf(format, a...)
	panic(f)
}

// A wait that ends in nothing says what was waited for, and so does one for a program
// that is gone.
func TestWaitFails(t *testing.T) {
	for _, tt := range []struct {
		name, script, want string
		timeout            time.Duration
	}{
		{"limit", "read x", `after 2s still waiting for "never" on the screen`, 2 * time.Second},
		{"end", "exit 3", `the program ended (exit status 3) before "never" on the screen`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{T: t}
			r := robot.Start(f, robot.Options{Timeout: tt.timeout}, need(t, "sh"), "-c", tt.script)
			func() {
				defer func() { _ = recover() }()
				r.WaitText("never")
			}()
			if f.failed != tt.want {
				t.Errorf("said %q, want %q", f.failed, tt.want)
			}
		})
	}
}
