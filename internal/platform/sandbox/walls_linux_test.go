//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/internal/platform/wall"
)

// behindWalls tries to get at vendor/v.txt, which must not be written, and at .env and
// keys/a.pem, which must not be read. Without walls each does something.
var behindWalls = []struct{ name, script string }{
	{"write", `echo X > vendor/v.txt`},
	{"append", `echo X >> vendor/v.txt`},
	{"after cd", `cd vendor; echo X > v.txt`},
	{"after pushd", `pushd vendor; echo X > v.txt`},
	{"by dots", `cd sub; echo X > ../vendor/v.txt`},
	{"absolute", `echo X > $PWD/vendor/v.txt`},
	{"capitals", `mkdir VENDOR; echo X > VENDOR/v.txt`},
	{"new file", `echo X > vendor/new`},
	{"new folder", `mkdir vendor/new`},
	{"new pipe", `mkfifo vendor/new`},
	{"new link", `ln -s x vendor/new`},
	{"hard link in", `ln mine vendor/new`},
	{"remove", `rm -f vendor/v.txt`},
	{"remove all", `rm -rf vendor`},
	{"move away", `mv vendor away`},
	{"move its file away", `mv vendor/v.txt away`},
	{"move over it", `mv mine vendor/v.txt`},
	{"move in", `mv mine vendor/`},
	{"exchange", `mkdir x; echo X > x/v.txt; python3 -c 'import ctypes,os; c=ctypes.CDLL(None); os._exit(c.renameat2(-100,b"x",-100,b"vendor",2) and 1)'`},
	{"truncate", `truncate -s 0 vendor/v.txt`},
	{"mode", `chmod 777 vendor/v.txt`},
	{"times", `touch -d 2001-01-01 vendor/v.txt`},
	{"in place", `sed -i s/kept/X/ vendor/v.txt`},
	{"copy", `cp mine vendor/v.txt`},
	{"by a link to the folder", `ln -s vendor l; echo X > l/v.txt`},
	{"by a link to the file", `ln -s vendor/v.txt l; echo X > l`},
	{"by a hard link", `ln vendor/v.txt l && echo X > l`},
	{"by the root of the process", `echo X > /proc/self/root$PWD/vendor/v.txt`},
	{"by the folder of the process", `cd vendor; echo X > /proc/self/cwd/v.txt`},
	{"by a descriptor of the folder", `exec 5< vendor; echo X > /proc/self/fd/5/v.txt`},
	{"by reopening a descriptor", `exec 5< vendor/v.txt; echo X > /dev/fd/5`},
	{"by another process's folder", `(cd vendor; exec sleep 1) & echo X > /proc/$!/cwd/v.txt; sleep 0.1; echo X > /proc/$!/cwd/v.txt`},
	{"a shell in a shell", `bash -c 'cd vendor && echo X > v.txt'`},
	{"awk", `awk 'BEGIN{print "X" > "vendor/v.txt"}'`},
	{"python", `python3 -c 'open("vendor/v.txt","w").write("X")'`},
	{"python, relative to a folder", `python3 -c 'import os; d=os.open("vendor",os.O_RDONLY); os.open("v.txt",os.O_WRONLY|os.O_TRUNC,dir_fd=d)'`},
	{"a socket", `python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("vendor/new")'`},
	{"nameless, then linked", `python3 -c 'import ctypes,os; f=os.open(".",os.O_TMPFILE|os.O_RDWR); os.write(f,b"X"); ctypes.CDLL(None).linkat(-100,b"/proc/self/fd/%d"%f,-100,b"vendor/new",0x400)'`},
	{"mapped", `python3 -c 'import mmap,os; f=os.open("vendor/v.txt",os.O_RDWR); m=mmap.mmap(f,4); m[0:1]=b"X"'`},
	{"a folder that becomes it", `mkdir -p new/vendor; mv vendor old; mv new/vendor vendor`},

	{"read", `cat .env`},
	{"read a folder", `grep -r SECRET .`},
	{"read after cd", `cd keys; cat a.pem`},
	{"read by a link", `ln -s .env l; cat l`},
	{"read by a hard link", `ln .env l; cat l`},
	{"read after a move", `mv .env l; cat l`},
	{"read after a move of the folder", `mv keys k; cat k/a.pem`},
	{"read by a copy", `cp .env l; cat l`},
	{"read a copy of all", `tar cf - . | grep -a SECRET`},
	{"read by the list of strings", `strings .env`},
	{"read in python", `python3 -c 'print(open(".env").read())'`},
	{"read as input", `cat < .env`},
	{"read by the root of the process", `cat /proc/self/root$PWD/.env`},
	{"read in a shell", `. ./.env; echo $KEY`},
	{"read and write", `exec 5<> .env; cat <&5`},
}

// racingWalls try to get something behind a wall between a look and an act.
var racingWalls = []struct{ name, script string }{
	{"a link that changes", `
import os, threading, time
os.symlink("mine", "l")
def flip():
    while time.time() < end:
        for to in "vendor/v.txt", "mine":
            os.symlink(to, "l2"); os.rename("l2", "l")
end = time.time() + float(os.environ["LONG"])
t = threading.Thread(target=flip); t.start()
while time.time() < end:
    try: open("l", "w").write("X")
    except OSError: pass
t.join()`},
	{"a folder that changes", `
import os, threading, time
os.mkdir("d"); os.symlink("vendor", "e")
def flip():
    while time.time() < end:
        try: os.rename("d", "t"); os.rename("e", "d"); os.rename("d", "e"); os.rename("t", "d")
        except OSError: pass
end = time.time() + float(os.environ["LONG"])
t = threading.Thread(target=flip); t.start()
while time.time() < end:
    try: open("d/v.txt", "w").write("X")
    except OSError: pass
t.join()`},
	{"a name in memory that changes", `
import ctypes, mmap, os, time
c = ctypes.CDLL(None, use_errno=True)
m = mmap.mmap(-1, 64)
name = (ctypes.c_char * 64).from_buffer(m)
end = time.time() + float(os.environ["LONG"])
if os.fork() == 0:
    while time.time() < end:
        m[0:13] = b"vendor/v.txt\0"
        m[0:13] = b"another-name\0"
    os._exit(0)
while time.time() < end:
    f = c.open(name, os.O_WRONLY|os.O_CREAT|os.O_TRUNC, 0o600)
    if f >= 0: os.write(f, b"X"); os.close(f)
os.wait()`},
}

// needPrograms skips a test whose script needs what not every machine has.
func needPrograms(t *testing.T, script string) {
	t.Helper()
	for _, name := range []string{"python3", "strings", "awk", "tar", "taskset", "chrt", "ionice", "renice"} {
		if _, err := exec.LookPath(name); err != nil && strings.Contains(script, name) {
			t.Skip("needs " + name)
		}
	}
}

// walled is what lies behind walls, and what does not.
func walled(t testing.TB) (g ground, state func() string) {
	t.Helper()
	g = newGround(t)
	for name, text := range map[string]string{"vendor/v.txt": "kept", ".env": "KEY=SECRET\n", "keys/a.pem": "SECRET\n", "sub/f": "f"} {
		write(t, filepath.Join(g.workspace, filepath.FromSlash(name)), text)
	}
	return g, func() string {
		vendor := ground{outside: filepath.Join(g.workspace, "vendor")}
		if _, err := os.Stat(vendor.outside); err != nil {
			return err.Error()
		}
		return vendor.state(t)
	}
}

var wallsOfTest = []wall.Wall{{Glob: "vendor/**", Write: true}, {Glob: "**/.env", Read: true}, {Glob: "keys/*.pem", Read: true}}

func TestWalls(t *testing.T) {
	needLandlock(t)
	for _, mode := range []sandbox.Mode{sandbox.Full, sandbox.WorkspaceWrite} {
		if pacetest.Cases(mode == sandbox.Full, false) {
			continue // it shows that without a sandbox each of them does something
		}
		for _, tt := range behindWalls {
			t.Run(string(mode)+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				needPrograms(t, tt.script)
				for _, walls := range [][]wall.Wall{nil, wallsOfTest} {
					if walls == nil && mode != sandbox.Full {
						continue // it is shown once that it does something
					}
					g, state := walled(t)
					s := begin(t, sandbox.Policy{Mode: mode, Workspace: g.workspace, Walls: walls})
					before := state()
					out, code := confined(t, s, g.workspace, tt.script)
					got := before != state() || strings.Contains(out, "SECRET")
					if _, err := os.Stat(filepath.Join(g.workspace, "VENDOR")); err == nil {
						got = true
					}
					if got != (walls == nil) {
						t.Errorf("walls %v: reached: %v (code %d)\n%s", walls != nil, got, code, out)
					}
				}
			})
		}
	}
}

func TestWallsRaces(t *testing.T) {
	pacetest.Costly(t)
	needLandlock(t)
	for _, tt := range racingWalls {
		t.Run(tt.name, func(t *testing.T) {
			needPrograms(t, "python3")
			for _, walls := range [][]wall.Wall{nil, wallsOfTest} {
				if walls == nil && pacetest.Cases(true, false) {
					continue // it is shown elsewhere that it does something
				}
				g, state := walled(t)
				s := begin(t, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: g.workspace, Walls: walls})
				before := state()
				out, _ := confined(t, s, g.workspace, "python3 - <<'X'\n"+tt.script+"\nX", "LONG="+pacetest.Cases("0.3", "1"))
				if got := before != state(); got != (walls == nil) {
					t.Errorf("walls %v: reached: %v\n%s", walls != nil, got, out)
				}
			}
		})
	}
}

// Beside walls everything goes on as without them, in the same command.
func TestBesideWalls(t *testing.T) {
	pacetest.Costly(t)
	needLandlock(t)
	const script = `set -e
		umask 027; echo x > new; mkdir dir; mkfifo pipe; [ "$(stat -c %a new dir pipe | tr '\n' ' ')" = "640 750 640 " ]
		(umask 0; echo y > open); [ $(stat -c %a open) = 666 ]
		cat vendor/v.txt mine; ls -a vendor keys > /dev/null; echo y >> new; [ "$(cat new)" = "x
y" ]
		echo K=1 > .env.new; cat .env.new > /dev/null
		(echo through > pipe) & cat < pipe; wait
		cat <(echo sub) /dev/stdin <<< here; echo err > /dev/stderr
		if command -v python3 > /dev/null; then python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.bind("sock"); s.listen(); c=socket.socket(socket.AF_UNIX); c.connect("sock")'; test -S sock; fi
		ln -s mine soft; cat soft soft > /dev/null; ln new hard; mv hard dir/; mv dir dir2; rm -r dir2 soft pipe
		cat /proc/self/status /proc/$$/maps /proc/mounts /etc/mtab > /dev/null; ps > /dev/null
		mkdir -p a/b/c; cd a/b/c; echo z > ../../z; cd - > /dev/null; [ "$(cat a/z)" = z ]; rmdir a/b/c
		exec 7> seven; echo 7 >&7; echo more > /proc/self/fd/7; exec 7>&-
		[ -e nothing ] || ! cat nothing 2> /dev/null; ! mkdir a 2> /dev/null; ! cat a/z/y 2> /dev/null
		ln -s loop loop; cat loop 2>&1 | grep -q 'symbolic links'; ln -s gone dangling; echo d > dangling; [ "$(cat gone)" = d ]
		ulimit -n 64; i=0; while [ $i -lt 200 ]; do : > new; i=$((i+1)); done`
	for _, mode := range []sandbox.Mode{sandbox.Full, sandbox.WorkspaceWrite} {
		g, _ := walled(t)
		s := begin(t, sandbox.Policy{Mode: mode, Workspace: g.workspace, Walls: wallsOfTest})
		if out, code := confined(t, s, g.workspace, script); code != 0 || !strings.Contains(out, "keptmine") || !strings.Contains(out, "through\nsub\nhere\nerr\n") {
			t.Errorf("%s: code %d\n%s", mode, code, out)
		}
		if _, err := exec.LookPath("setpriv"); err != nil || !root() {
			continue
		}
		// Another user's rights are that user's: the guard doesn't lend its own.
		const other = `chmod 777 . ; for d in . .. ../..; do chmod o+x $d 2> /dev/null; done; echo mine > rooted; chmod 600 rooted
			setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'echo x > others && stat -c %u others; cat rooted; echo no > rooted; echo X > vendor/v.txt'; cat rooted`
		if out, _ := confined(t, s, g.workspace, other); !strings.Contains(out, "65534\n") || strings.Count(out, "denied") != 3 || !strings.HasSuffix(out, "mine\n") {
			t.Errorf("%s: another user: %s", mode, out)
		}
	}
}

// Without a sandbox, what is outside can still not be used to get around walls.
func TestWallsCannotBeLeft(t *testing.T) {
	needLandlock(t)
	needPrograms(t, "python3")
	g, _ := walled(t)
	s := begin(t, sandbox.Policy{Mode: sandbox.Full, Workspace: g.workspace, Walls: wallsOfTest})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{
		"exec 5<> /proc/$BURIN/mem", "exec 5<> /proc/$PPID/mem", "unshare -m true", "mkdir m; mount --bind vendor m", "chroot . true",
		trial + `=ptrace "$SELF"`, trial + `=peek "$SELF"`, trial + `=steal "$SELF"`, trial + `=io_uring "$SELF"`, "sudo -n true",
	} {
		if out, code := confined(t, s, g.workspace, script, "BURIN="+strconv.Itoa(os.Getpid()), "SELF="+self); code == 0 {
			t.Errorf("%s: %s", script, out)
		}
	}
}

// Git's configuration can be replaced by one that makes git execute nothing else.
func TestGitConfigWalls(t *testing.T) {
	needLandlock(t)
	g, _ := walled(t)
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", g.workspace, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "one")
	config := filepath.Join(g.workspace, ".git", "config")
	s := begin(t, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: g.workspace, Configs: []string{config}, Walls: []wall.Wall{
		{Glob: ".git/config/**", Write: true}, {Glob: ".git/config.burin-*", Write: true}, {Glob: ".git/hooks/**", Write: true},
	}})
	const work = `set -e; git branch -m trunk; git remote add up https://example.com/a.git; git config user.name somebody
		git checkout -q --track -b side trunk; git branch -d trunk; git config --unset user.name; stat -c %a .git/config`
	if out, code := confined(t, s, g.workspace, work); code != 0 || !strings.HasSuffix(out, "644\n") {
		t.Errorf("code %d: %s", code, out)
	}
	if got := git("config", "branch.side.merge"); got != "refs/heads/trunk" {
		t.Errorf("side tracks %q", got)
	}
	before := git("config", "--list", "--local")
	for _, script := range []string{
		"git config core.fsmonitor ./evil", "git config filter.x.clean evil", "git config alias.st '!evil'", "git config include.path ../evil",
		"git remote add x 'ext::sh -c evil'", "printf '[core]\n fsmonitor = evil\n' > .git/config.lock; mv .git/config.lock .git/config",
		"echo x > .git/config", "cp .git/config x; echo '[core] pager = evil' >> x; mv x .git/config", "ln -s ../x .git/config.lock; echo '[core] pager = evil' > x; mv .git/config.lock .git/config",
		"echo x > .git/config.burin-1", "rm .git/config", "sed -i 1d .git/config", "mv .git g",
	} {
		if out, code := confined(t, s, g.workspace, script); code == 0 {
			t.Errorf("%s: %s", script, out)
		}
		if after := git("config", "--list", "--local"); after != before {
			t.Fatalf("%s\n%s", script, after)
		}
		_ = os.Remove(config + ".lock")
	}
}

func TestExplainWalls(t *testing.T) {
	pacetest.Costly(t)
	needLandlock(t)
	g, _ := walled(t)
	s := begin(t, sandbox.Policy{Mode: sandbox.Full, Workspace: g.workspace, Walls: wallsOfTest})
	for _, script := range []string{"echo x > vendor/v.txt", "cat .env", "rm $PWD/vendor/v.txt", "cd vendor; rm v.txt; cd ..; mv vendor x"} {
		out, code := confined(t, s, g.workspace, script)
		if got := s.Explain(out, code); !strings.Contains(got, "burin keeps commands from") {
			t.Errorf("%s: %q after %s", script, got, out)
		}
	}
	out, code := confined(t, s, g.workspace, "chmod 000 mine; setpriv --reuid 65534 cat mine")
	if got := s.Explain(out, code); got != "" {
		t.Errorf("an ordinary refusal: %q", got)
	}
}

// A secret in a folder that commands may write is hidden by a wall.
func TestSecretInWorkspace(t *testing.T) {
	needLandlock(t)
	g, _ := walled(t)
	s := begin(t, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: g.workspace, Secret: []string{filepath.Join(g.workspace, "keys"), filepath.Join(g.workspace, ".env")}})
	for _, script := range []string{"cat keys/a.pem", "cat .env", "mv keys k; cat k/a.pem", "ln .env e; cat e", "grep -r SECRET ."} {
		if out, _ := confined(t, s, g.workspace, script); strings.Contains(out, "SECRET") {
			t.Errorf("%s: %s", script, out)
		}
	}
	if out, code := confined(t, s, g.workspace, "echo x > new && cat new mine"); code != 0 || out != "x\nmine" {
		t.Errorf("beside it: code %d: %s", code, out)
	}
}

// A command can't take the processor from others, burin among them.
func TestPriorities(t *testing.T) {
	pacetest.Costly(t)
	needLandlock(t)
	g := newGround(t)
	s := begin(t, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: g.workspace})
	for _, script := range []string{
		"renice 19 -p $PPID", "renice 19 -p $BURIN", "renice 19 -u $(id -u)", "taskset -pc 0 $PPID", "taskset -pc 0 $BURIN", "chrt -i -p 0 $PPID", "ionice -c 3 -p $PPID", "ionice -c 3 -P $PPID",
	} {
		if out, code := confined(t, s, g.workspace, script, "BURIN="+strconv.Itoa(os.Getpid())); code == 0 {
			t.Errorf("%s: %s", script, out)
		}
	}
	needPrograms(t, "renice taskset chrt ionice")
	const own = "set -e; renice 19 -p $$; nice -n 3 true; taskset -pc 0 $$; taskset -c 0 true; chrt -b -p 0 $$; ionice -c 3 -p $$; sleep 5 & renice 19 -p $!; taskset -pc 0 $!; kill $!"
	if out, code := confined(t, s, g.workspace, own); code != 0 {
		t.Errorf("its own: code %d: %s", code, out)
	}
}
