package story_test

import (
	"bufio"
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
)

// socketVariable has the terminals of stories attach to an owner in the background: directly
// where it is 1, through burin serve where it is [throughServer].
const (
	socketVariable = "STORY_SOCKET"
	throughServer  = "server"
)

// notOverSocket are stories that make no sense there, and why.
var notOverSocket = map[string]string{
	"TestQuitAtOnce":                   waitsInOwner,
	"TestQuitWhileACommandDoesNotEnd":  waitsInOwner,
	"TestLeaveTwice":                   waitsInOwner,
	"TestLeaveWhileACommandDoesNotEnd": waitsInOwner,
	"TestResumeTheSessionThatIsOpen":   waitsInOwner,
	"TestQuitNamesWhatStops":           aboutOwner,
	"TestAttachToNobody":               aboutOwner,
	"TestOneSessionManyFaces":          aboutOwner,
	"TestAnswerAScript":                aboutOwner,
	"TestStatusLineCommand":            "the command runs in the sandbox of the process that has the session",
	"TestDumpRequest":                  "requests are dumped where they are sent",
	"TestMoveNowhere":                  isOpen,
	"TestRenameAndDrop":                isOpen,
	"TestDropInDatabase":               isOpen,
	"TestExportOfNothing":              "nobody can join what has no file",
	"TestSealedSession":                "the pass phrase is asked for by the owner, which has no terminal",
	"TestAutoResumeSetting":            "a session in the background is a new one unless it is named",
	"TestQueueSettings":                "a message on its way to the owner may come after the answer has gone on",
	"TestHistoryIsPrivate/no_session":  "nobody can join what has no file",
}

const (
	waitsInOwner = "leaving a session that lives elsewhere waits for nothing"
	aboutOwner   = "it is about the end of the process that owns the session"
	isOpen       = "a session that another process has open is not moved or deleted"
)

// overSocket reports whether the terminal is a client of an owner.
func (o *setting) overSocket() bool { return os.Getenv(socketVariable) != "" && !o.bare && !o.quiet }

// ownElsewhere begins the session in the background, and gives its id.
func (s *story) ownElsewhere(o setting, args []string) string {
	s.t.Helper()
	name, _, _ := strings.Cut(s.t.Name(), "/")
	if why := cmp.Or(notOverSocket[name], notOverSocket[s.t.Name()]); why != "" {
		s.t.Skip(why)
	}
	for _, pid := range s.owners() { // of the story before, in the same home
		_ = syscall.Kill(pid, syscall.SIGTERM) // it may have ended
	}
	s.waitFor("the owner before has ended", func() bool { return len(s.owners()) == 0 })
	s.t.Cleanup(func() {
		for _, pid := range s.owners() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	})
	file := o.program
	if file == "" {
		file = program(s.t)
	}
	cmd := exec.Command(file, append([]string{"--background"}, args...)...)
	cmd.Dir = o.Options.Dir
	cmd.Env = append([]string{"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC", "PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(s.home)}, o.Env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if _, err := cmd.Output(); err != nil {
		s.t.Fatalf("begin in the background: %v: %s", err, &said)
	}
	_, which, _ := strings.Cut(said.String(), "burin attach ")
	which, _, _ = strings.Cut(which, " joins it")
	if os.Getenv(socketVariable) == throughServer {
		return s.served(cmd) + "/" + which
	}
	return which
}

// served starts a server as cmd was started, and gives its address.
func (s *story) served(like *exec.Cmd) string {
	s.t.Helper()
	cmd := exec.Command(like.Path, "serve", "--addr", "127.0.0.1:0")
	cmd.Dir, cmd.Env = like.Dir, like.Env
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.t.Fatalf("start the server: %v: %s", err, &said)
	}
	return strings.TrimSpace(line)
}

// Stories of each way from the terminal to the session and back are told over the socket, too;
// with STORY_SOCKET=1, as in CI, all of them are.
func TestOverSocket(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	tellOver(t, "1", []string{
		"TestCtrlCStops", "TestAllowForSession", "TestDenyWithNote", "TestModelAsksOnce", "TestFollowUp", "TestQueueComesBackFromASessionThatIsLeft",
		"TestContinue", "TestBranchSummary", "TestPlanMode", "TestModel", "TestCompact", "TestStopRetry", "TestTodoPanel", "TestBackgroundJob", "TestSessionInDatabase",
	})
}

// The same through a server, which the terminal reaches over HTTP.
func TestOverServer(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	tellOver(t, throughServer, []string{
		"TestAbort", "TestAllowOnce", "TestModelAsksOnce", "TestAside", "TestSteer", "TestTree", "TestShell", "TestUndo",
	})
}

// tellOver tells stories once more, in a process of their own.
func tellOver(t *testing.T, way string, names []string) {
	t.Helper()
	if os.Getenv(socketVariable) != "" || testing.Short() {
		t.Skip("the stories are told there already, or shall take no time")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^("+strings.Join(names, "|")+")$", "-test.timeout=8m")
	cmd.Env = append(os.Environ(), socketVariable+"="+way)
	out, err := cmd.CombinedOutput()
	if told := regexp.MustCompile("(?m)^ok|^PASS").Find(out); err != nil || told == nil {
		t.Errorf("%v:\n%s", err, out)
	}
}
