//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/internal/platform/wall"
)

// confined runs a shell script under the policy and gives its output and exit code.
func confined(t testing.TB, s *sandbox.Sandbox, dir, script string, env ...string) (string, int) {
	t.Helper()
	cmd, err := process.Command(process.Options{Dir: dir, Sandbox: s.Encoded(), Env: append(append(os.Environ(), s.Env()...), env...)}, "bash", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// everything is a wall that makes the guard open each file of a command.
var everything = []wall.Wall{{Glob: "walled/**", Read: true, Write: true}}

// withWalls runs a test without walls and with one.
func withWalls(t *testing.T, test func(t *testing.T, walls []wall.Wall)) {
	needLandlock(t)
	t.Run("kernel", func(t *testing.T) { test(t, nil) })
	t.Run("guard", func(t *testing.T) {
		if !strings.HasPrefix(t.Name(), "TestReadOnly/") { // the guard has more to do for each file
			pacetest.Costly(t)
		}
		test(t, everything)
	})
}

func needLandlock(t testing.TB) {
	t.Helper()
	if s := sandbox.Available(); !s.Files || !strings.Contains(s.How, "supervisor") {
		t.Skipf("this machine cannot enforce all: %s %s", s.How, s.Missing)
	}
}

// judgesSignals says whether the kernel keeps signals in the sandbox.
func judgesSignals() bool { return !strings.Contains(sandbox.Available().Missing, "signals") }

func root() bool { return os.Geteuid() == 0 }

// ground is a place outside the workspace that the user could change at will.
type ground struct{ workspace, outside string }

func newGround(t testing.TB) ground {
	t.Helper()
	dir := folder(t)
	g := ground{workspace: filepath.Join(dir, "work"), outside: filepath.Join(dir, "outside")}
	write(t, filepath.Join(g.workspace, "mine"), "mine")
	write(t, filepath.Join(g.outside, "file"), "kept")
	write(t, filepath.Join(g.outside, "folder", "file"), "kept")
	return g
}

// state describes what is outside: names, modes, owners, times and contents.
func (g ground) state(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	err := filepath.Walk(g.outside, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(data)
		}
		attributes := make([]byte, 100)
		n, err := unix.Listxattr(path, attributes)
		if err != nil {
			n = 0
		}
		fmt.Fprintf(&b, "%s %v %v %q %s\n", path, info.Mode(), info.ModTime(), attributes[:n], text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Each of these changes something outside the workspace. Without the sandbox each
// succeeds: it is not file modes that stop them.
var writesOutside = []struct {
	name, script string
	root         bool // needs root without the sandbox
}{
	{name: "by path", script: `echo x > $OUT/new`},
	{name: "over a file", script: `echo x > $OUT/file`},
	{name: "append", script: `echo x >> $OUT/file`},
	{name: "by dots", script: `echo x > ../outside/new`},
	{name: "by a link to a folder", script: `ln -s $OUT l; echo x > l/new`},
	{name: "by a link to a file", script: `ln -s $OUT/file l; echo x > l`},
	{name: "by a link in the way of a move", script: `ln -s $OUT l; mv mine l/`},
	{name: "by a hard link", script: `ln $OUT/file l && echo x > l`},
	{name: "hard link out", script: `ln mine $OUT/new`},
	{name: "rename out", script: `mv -n mine $OUT/new && [ -e $OUT/new ]`},
	{name: "rename in", script: `mv $OUT/file got && [ ! -e $OUT/file ]`},
	{name: "rename within", script: `mv $OUT/file $OUT/file2`},
	{name: "remove", script: `rm $OUT/file`},
	{name: "remove a folder", script: `rm -r $OUT/folder`},
	{name: "make a folder", script: `mkdir $OUT/new`},
	{name: "make a link", script: `ln -s x $OUT/new`},
	{name: "make a pipe", script: `mkfifo $OUT/new`},
	{name: "make a device", script: `mknod $OUT/new c 1 3`, root: true},
	{name: "truncate", script: `truncate -s 0 $OUT/file`},
	{name: "by the root of the own process", script: `echo x > /proc/self/root$OUT/new`},
	{name: "by the folder of the own process", script: `cd $OUT && echo x > /proc/self/cwd/new`},
	{name: "by a descriptor", script: `exec 5< $OUT; echo x > /proc/self/fd/5/new`},
	{name: "by reopening a descriptor", script: `exec 5< $OUT/file; echo x > /proc/self/fd/5`},
	{name: "mode", script: `chmod 777 $OUT/file`},
	{name: "mode by a link", script: `ln -s $OUT/file l; chmod 777 l`},
	{name: "mode by dots", script: `cd ../outside; chmod 777 file`},
	{name: "mode of a folder", script: `chmod 000 $OUT/folder; r=$?; chmod 700 $OUT/folder; touch $OUT/folder; exit $r`},
	{name: "owner", script: `chown 12:34 $OUT/file; r=$?; touch $OUT/file; exit $r`, root: true},
	{name: "times", script: `touch -d 2001-01-01 $OUT/file`},
	{name: "times now", script: `touch $OUT/file`},
	{name: "times of a link", script: `touch -h -d 2001-01-01 $OUT/file`},
	{name: "mode in memory of a swapped descriptor", script: trial + `=fchmod "$SELF"`},
	{name: "attributes", script: trial + `=setxattr "$SELF"`},
	{name: "bind mount", script: `mkdir m; mount --bind $OUT m && { echo x > m/new; umount m; }`, root: true},
	{name: "other mount namespace", script: `unshare -m sh -c 'echo x > $OUT/new'`, root: true},
	{name: "other user", script: `setpriv --reuid 1 --clear-groups true; chroot $OUT / true; rm $OUT/file`},
	{name: "by a file handle", script: trial + `=handle "$SELF"`, root: true},
}

func TestWritesOutside(t *testing.T) { withWalls(t, testWritesOutside) }

func testWritesOutside(t *testing.T, walls []wall.Wall) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []sandbox.Mode{sandbox.Full, sandbox.WorkspaceWrite, sandbox.ReadOnly} {
		if (walls != nil || pacetest.Cases(true, false)) && mode != sandbox.WorkspaceWrite {
			continue
		}
		for _, tt := range writesOutside {
			t.Run(string(mode)+"/"+tt.name, func(t *testing.T) {
				if tt.root && !root() {
					t.Skip("needs root")
				}
				g := newGround(t)
				s := begin(t, sandbox.Policy{Mode: mode, Workspace: g.workspace, Walls: walls})
				before := g.state(t)
				out, code := confined(t, s, g.workspace, tt.script, "OUT="+g.outside, "SELF="+self)
				after := g.state(t)
				if mode == sandbox.Full {
					if before == after && !strings.Contains(out, "not supported") {
						t.Errorf("without a sandbox it changes nothing, so it proves nothing (code %d)\n%s", code, out)
					}
					return
				}
				if before != after || code == 0 {
					t.Errorf("code %d\n%s\nbefore\n%s\nafter\n%s", code, out, before, after)
				}
			})
		}
	}
}

func TestWritesInside(t *testing.T) { withWalls(t, testWritesInside) }

func testWritesInside(t *testing.T, walls []wall.Wall) {
	const script = `set -e
		echo x > new; echo y >> new; mkdir -p a/b; mv new a/b/; ln a/b/new hard; ln -s a soft; echo z > soft/b/z
		mkfifo pipe; truncate -s 3 hard; chmod 640 hard; chmod -R u+w a; touch -d 2001-01-01 hard; touch -h soft; cp -a soft copy
		[ "$(stat -c '%a %Y' hard)" = "640 978307200" ]
		f=$(mktemp); echo t > $f; mv $f a/; rm -r a pipe
		tar cf t.tar hard; mkdir x; tar xf t.tar -C x; install -m 750 hard prog; [ "$(stat -c %a prog)" = 750 ]
		cat <(echo sub) > /dev/null; seq 1000 | sort -n | tail -1 | tee last >/dev/null; [ $(cat last) = 1000 ]
		exec 7<> file; chmod 600 /proc/self/fd/7; chmod 611 /dev/fd/7; [ "$(stat -c %a file)" = 611 ]`
	g := newGround(t)
	temp := folder(t)
	s := begin(t, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: g.workspace, Walls: walls, Writable: []string{temp, "/nonexistent/cache"}})
	if out, code := confined(t, s, g.workspace, script, "TMPDIR="+temp); code != 0 {
		t.Errorf("code %d\n%s", code, out)
	}
	if root() {
		if out, code := confined(t, s, g.workspace, "chown 12:34 mine && stat -c %u:%g mine"); out != "12:34\n" {
			t.Errorf("code %d\n%s", code, out)
		}
	}
}

func TestReadOnly(t *testing.T) { withWalls(t, testReadOnly) }

func testReadOnly(t *testing.T, walls []wall.Wall) {
	g := newGround(t)
	s := begin(t, sandbox.Policy{Mode: sandbox.ReadOnly, Workspace: g.workspace, Walls: walls, Writable: []string{g.outside}})
	for _, script := range []string{"echo x > new", "rm mine", "chmod 777 mine", "touch mine", "mkdir d", "echo x > $OUT/new", "echo x > /dev/shm/burin-test", "ln -s a b"} {
		if out, code := confined(t, s, g.workspace, script, "OUT="+g.outside); code == 0 {
			t.Errorf("%s: %s", script, out)
		}
	}
	const allowed = `set -e; cat mine > /dev/null; echo x > /dev/null; head -c 4 /dev/urandom | wc -c; ls / > /dev/null; cat /etc/passwd | grep -c root; cat <(echo sub)
		echo lost 2> /dev/null >&2; : < /dev/zero; (exit 3) || echo three`
	if out, code := confined(t, s, g.workspace, allowed); code != 0 || !strings.Contains(out, "three") {
		t.Errorf("code %d\n%s", code, out)
	}
}

func TestSecrets(t *testing.T) { withWalls(t, testSecrets) }

func testSecrets(t *testing.T, walls []wall.Wall) {
	for _, mode := range []sandbox.Mode{sandbox.ReadOnly, sandbox.WorkspaceWrite} {
		g := newGround(t)
		keys := filepath.Join(g.outside, "home", ".keys")
		write(t, filepath.Join(keys, "id"), "SECRET")
		write(t, filepath.Join(g.outside, "home", ".netrc"), "SECRET")
		write(t, filepath.Join(g.outside, "home", "notes"), "open\n")
		write(t, filepath.Join(g.outside, "home", "sub", "notes"), "open\n")
		write(t, filepath.Join(g.outside, "real", "token"), "SECRET")
		write(t, filepath.Join(g.outside, "real", "open"), "open\n")
		for name, to := range map[string]string{"linked": "../real/token", "alias": ".keys", "beside": "notes"} {
			if err := os.Symlink(to, filepath.Join(g.outside, "home", name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Link(filepath.Join(keys, "id"), filepath.Join(g.workspace, "prepared")); err != nil {
			t.Fatal(err)
		}
		s := begin(t, sandbox.Policy{Mode: mode, Workspace: g.workspace, Walls: walls, Secret: []string{
			keys, filepath.Join(g.outside, "home", ".netrc"), filepath.Join(g.outside, "home", "linked"), filepath.Join(g.outside, "later"),
		}})
		write(t, filepath.Join(g.outside, "later", "key"), "SECRET") // was not there when the sandbox started
		for _, script := range []string{
			"cat home/.keys/id", "cat home/.netrc", "cat home/linked", "cat home/alias/id", "cat real/token", "cat later/key",
			"cat /proc/self/root$OUT/home/.keys/id", "cd home/.keys && cat id", "exec 5< home/.keys; cat /proc/self/fd/5/id",
			"ln home/.keys/id $WORK/l && cat $WORK/l", "mv home/.keys $WORK/l && cat $WORK/l/id", "mv home/.netrc home/notes2; cat home/notes2",
			"cp home/.keys/id $WORK/l && cat $WORK/l", "ln -s $OUT/home/.keys/id $WORK/l; cat $WORK/l", "tar c home | grep -a SECRET",
		} {
			if out, code := confined(t, s, g.outside, script, "OUT="+g.outside, "WORK="+g.workspace); code == 0 || strings.Contains(out, "SECRET") {
				t.Errorf("%s: %s: code %d\n%s", mode, script, code, out)
			}
		}
		const open = "set -e; cat home/notes home/sub/notes home/beside real/open; ls home > /dev/null; bash -c true"
		if out, code := confined(t, s, g.outside, open); code != 0 || out != strings.Repeat("open\n", 4) {
			t.Errorf("%s: beside secrets: code %d\n%s", mode, code, out)
		}
	}
}

// A folder in a secret one can be opened, for reading or for writing too, and only that.
func TestReadable(t *testing.T) { withWalls(t, testReadable) }

func testReadable(t *testing.T, walls []wall.Wall) {
	for _, mode := range []sandbox.Mode{sandbox.ReadOnly, sandbox.WorkspaceWrite} {
		g := newGround(t)
		own, notes := filepath.Join(g.outside, "data", "mine"), filepath.Join(g.outside, "data", "mine", "local")
		write(t, filepath.Join(g.outside, "data", "key"), "SECRET")
		write(t, filepath.Join(own, "1.log"), "open\n")
		write(t, filepath.Join(notes, "a.md"), "open\n")
		s := begin(t, sandbox.Policy{
			Mode: mode, Workspace: g.workspace, Walls: walls, Secret: []string{filepath.Join(g.outside, "data")},
			Readable: []string{own, notes}, Writable: []string{notes},
		})
		if out, code := confined(t, s, g.outside, "cat data/mine/1.log data/mine/local/a.md"); code != 0 || out != "open\nopen\n" {
			t.Errorf("%s: code %d\n%s", mode, code, out)
		}
		if out, code := confined(t, s, g.outside, "echo x >data/mine/local/b.md"); (code == 0) != (mode == sandbox.WorkspaceWrite) {
			t.Errorf("%s: code %d\n%s", mode, code, out)
		}
		for _, script := range []string{"cat data/key", "cat data/mine/../key", "echo x >data/mine/1.log", "echo x >data/mine/new", "ln -s ../../key data/mine/local/l; cat data/mine/local/l"} {
			if out, code := confined(t, s, g.outside, script); code == 0 || strings.Contains(out, "SECRET") {
				t.Errorf("%s: %s: code %d\n%s", mode, script, code, out)
			}
		}
	}
}

func TestProcessesOutside(t *testing.T) {
	pacetest.Costly(t)
	withWalls(t, testProcessesOutside)
}

func testProcessesOutside(t *testing.T, walls []wall.Wall) {
	g := newGround(t)
	s := begin(t, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: g.workspace, Walls: walls})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := []string{fmt.Sprintf("BURIN=%d", os.Getpid()), "SELF=" + self, "CANARY=x"}
	for _, script := range []string{
		"kill -0 $BURIN", "kill -WINCH $BURIN", "kill -0 $PPID", "kill -CONT -- -$BURIN",
		// No thread of the guard is in the sandbox, once the one that started the program has ended.
		"sleep 0.2; for t in /proc/$PPID/task/*; do kill -0 ${t##*/} && exit 0; done; exit 1",
		"cat /proc/$BURIN/environ", "cat /proc/$PPID/environ", "ls -l /proc/$BURIN/fd/", "ls /proc/$BURIN/fd/ && cat /proc/$BURIN/maps",
		"cat /proc/$BURIN/root/etc/passwd", "ls /proc/$BURIN/cwd/", "exec 5< /proc/$BURIN/mem",
		"sleep 0.2; for t in /proc/$PPID/task/*; do cat $t/maps && exit 0; done; exit 1",
		trial + `=ptrace "$SELF"`, trial + `=peek "$SELF"`, trial + `=limits "$SELF"`, trial + `=steal "$SELF"`,
	} {
		if strings.Contains(script, "kill") && !judgesSignals() {
			continue
		}
		if out, code := confined(t, s, g.workspace, script, env...); code == 0 {
			t.Errorf("%s\n%s", script, out)
		}
		if strings.Contains(script, "--") || !root() {
			continue // burin's own group need not exist; others than root may not do all of it
		}
		if out, code := confined(t, begin(t, sandbox.Policy{Mode: sandbox.Full}), g.workspace, script, env...); code != 0 {
			t.Errorf("without a sandbox, so that it proves nothing: %s: code %d\n%s", script, code, out)
		}
	}
	if out, code := confined(t, s, g.workspace, "cat /proc/1/root/etc/passwd"); code == 0 { // some machines deny it anyway
		t.Error(out)
	}
	if out, code := confined(t, s, g.workspace, "sleep 60 & kill -TERM $!; wait $!; [ $? = 143 ] && kill -0 $$ && cat /proc/self/maps /proc/$$/environ > /dev/null"); code != 0 {
		t.Errorf("own processes: code %d\n%s", code, out)
	}
}

// A command has its own terminal, and no other: neither one to read from and write
// to that is there, nor new ones.
func TestTerminals(t *testing.T) { withWalls(t, testTerminals) }

func testTerminals(t *testing.T, walls []wall.Wall) {
	g := newGround(t)
	open := func() (master, slave *os.File) {
		master, slave, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { master.Close(); slave.Close() })
		return master, slave
	}
	master, own := open()
	_, other := open()
	s := begin(t, sandbox.Policy{Mode: sandbox.ReadOnly, Workspace: g.workspace, Walls: walls})
	cmd, err := process.Command(process.Options{
		Dir: g.workspace, Sandbox: s.Encoded(), TTY: true, Env: append(os.Environ(), "OWN="+own.Name(), "OTHER="+other.Name()),
	}, "bash", "-c", `exec 2>/dev/null; echo a > /dev/tty && stty -echo < /dev/tty; echo b > $OWN; echo c > $OTHER; (: < $OTHER) && echo d; (: <> /dev/ptmx) && echo e; echo end`)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = own, own, own
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text, lines := "", bufio.NewReader(master)
	for !strings.HasSuffix(text, "end\r\n") {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %q", err, text)
		}
		text += line
	}
	if err := cmd.Wait(); err != nil || text != "a\r\nb\r\nend\r\n" {
		t.Errorf("%v: %q", err, text)
	}
}
