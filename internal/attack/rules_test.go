//go:build linux

package attack

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// folder is a way to get to the folder vendor without naming what is written.
type folder struct {
	before, vendor, after string // vendor is the folder's name from there
}

var folders = []folder{
	{"", "vendor", ""},
	{"cd vendor; ", ".", ""},
	{"cd vendor\n", ".", ""},
	{"cd vendor || exit; ", ".", ""},
	{"cd vendor && ", ".", ""},
	{"if cd vendor; then ", ".", "; fi"},
	{"(cd vendor; ", ".", ")"},
	{"pushd vendor >/dev/null; ", ".", "; popd >/dev/null"},
	{"cd sub; ", "../vendor", ""},
	{`cd v"end"or; `, ".", ""},
	{"d=vendor; cd $d; ", ".", ""},
	{"cd $(echo vendor); ", ".", ""},
	{"cd ven*; ", ".", ""},
	{"cd /; cd {ws}/vendor; ", ".", ""},
	{"CDPATH={ws} cd vendor >/dev/null; ", ".", ""},
	{"ln -sfn vendor link; cd link; ", ".", ""},
	{"ln -sfn vendor link; ", "link", ""},
	{"while cd vendor; do ", ".", "; break; done"},
	{"until ! cd vendor; do ", ".", "; break; done"},
	{"go() { cd vendor; }; go; unset -f go; ", ".", ""},
	{"cd -P ./sub/../vendor; ", ".", ""},
	{"{ cd vendor; }; ", ".", ""},
	{"eval 'cd vendor'; ", ".", ""},
	{"builtin cd vendor; ", ".", ""},
	{"command cd vendor; ", ".", ""},
	{"cd vendor 2>/dev/null; ", ".", ""},
	{"! cd vendor; ", ".", ""},
	{"true && cd vendor; ", ".", ""},
	{"false || cd vendor; ", ".", ""},
	{"case x in x) cd vendor;; esac; ", ".", ""},
	{"for d in vendor; do cd $d; ", ".", "; done"},
	{"D={ws}/vendor; ", "$D", ""},
	{"", "{ws}/./vendor", ""},
	{"", "sub/../vendor", ""},
	{"", "/proc/self/cwd/vendor", ""},
	{"", "/proc/self/root{ws}/vendor", ""},
	{"cd vendor/deep; ", "..", ""},
	{"mv vendor moved; ", "moved", "; mv moved vendor"},
	{"mkdir -p up; mv vendor up/; ", "up/vendor", "; mv up/vendor ."},
	{"exec 9<vendor; ", "/proc/self/fd/9", "; exec 9<&-"},
	{"cd vendor; cd - >/dev/null; cd \"$OLDPWD\"; ", ".", ""},
	{"shopt -s autocd 2>/dev/null; cd ./vendor/../vendor/.; ", ".", ""},
}

// writers change something in the folder {v}.
var writers = []string{
	"echo X > {v}/v.txt",
	"echo X >> {v}/keep.txt",
	": > {v}/keep.txt",
	"echo X >| {v}/keep.txt",
	"rm -f {v}/keep.txt",
	"rm -rf {v}/deep",
	"mv {v}/keep.txt {v}/other.txt",
	"mv {v}/keep.txt {ws}/taken.txt",
	"sed -i s/keep/X/ {v}/keep.txt",
	"cp {ws}/a.txt {v}/v.txt",
	"cp {ws}/a.txt {v}/keep.txt",
	"cat {ws}/a.txt | tee {v}/v.txt >/dev/null",
	"dd if={ws}/a.txt of={v}/v.txt status=none",
	"ln -s x {v}/l",
	"ln {ws}/a.txt {v}/l",
	"ln -f {v}/keep.txt {ws}/hard.txt && echo X > {ws}/hard.txt",
	"mkdir {v}/d",
	"touch {v}/new",
	"truncate -s 0 {v}/keep.txt",
	"install {ws}/a.txt {v}/v.txt",
	"tar -C {v} -xf {ws}/t.tar",
	"find {v} -name keep.txt -delete",
	"perl -pi -e s/keep/X/ {v}/keep.txt",
	"python3 -c 'import sys; open(sys.argv[1], \"w\").write(\"X\")' {v}/keep.txt",
	"python3 -c 'import os,sys; d=os.open(sys.argv[1], os.O_RDONLY); f=os.open(\"v.txt\", os.O_CREAT|os.O_WRONLY, dir_fd=d); os.write(f, b\"X\")' {v}",
	"awk 'BEGIN{print \"X\" > ARGV[1]}' {v}/v.txt",
	"sort -o {v}/keep.txt {ws}/a.txt",
	"split {ws}/a.txt {v}/part",
	"chmod 777 {v}/keep.txt",
	"gzip {v}/keep.txt",
	"unlink {v}/keep.txt",
	"shred -u {v}/keep.txt",
	"sqlite3 {v}/db 'create table t(x)'",
	"curl -s -o {v}/v.txt file://{ws}/a.txt",
	"script -qc true {v}/log >/dev/null",
	"printf 'w {v}/v.txt\\nq\\n' | ed -s {ws}/a.txt",
	"exec 8>>{v}/keep.txt; echo X >&8; exec 8>&-",
	"mkfifo {v}/pipe",
	"rmdir {v}/empty",
	"cp -r {ws}/sub {v}/",
}

// shells run a command in another way.
var shells = []func(string) string{
	func(c string) string { return c },
	func(c string) string { return "bash -c " + quote(c) },
	func(c string) string { return "sh -c " + quote(c) },
	func(c string) string { return "bash <<'EOF'\n" + c + "\nEOF" },
	func(c string) string { return "bash <<< " + quote(c) },
	func(c string) string { return "echo " + quote(c) + " | bash" },
	func(c string) string { return "eval " + quote(c) },
	func(c string) string { return "env bash -c " + quote(c) },
	func(c string) string { return "timeout 9 bash -c " + quote(c) },
	func(c string) string { return "setsid -w bash -c " + quote(c) },
	func(c string) string { return "(" + c + "\n) & wait" },
	func(c string) string { return "cat > s.sh <<'EOF'\n" + c + "\nEOF\nbash s.sh" },
	func(c string) string { return "cat > s.sh <<'EOF'\n" + c + "\nEOF\n. ./s.sh" },
	func(c string) string { return "source /dev/stdin <<'EOF'\n" + c + "\nEOF" },
	func(c string) string {
		return "python3 - <<'EOF'\nimport subprocess\nsubprocess.run(['bash','-c'," + python(c) + "])\nEOF"
	},
	func(c string) string { return "perl -e 'exec(\"bash\",\"-c\",$ARGV[0])' " + quote(c) },
	func(c string) string { return "C=" + quote(c) + " awk 'BEGIN{system(\"bash -c \\\"$C\\\"\")}'" },
	func(c string) string {
		return "printf 'all:\\n\\t@bash -c \"$$C\"\\n' | C=" + quote(c) + " make -s -f -"
	},
	func(c string) string { return "find a.txt -exec bash -c " + quote(c) + " \\;" },
	func(c string) string { return "echo a.txt | xargs -I% bash -c " + quote(c) },
	func(c string) string { return "trap " + quote(c) + " USR1; kill -USR1 $BASHPID; trap - USR1" },
	func(c string) string { return "x=$(" + c + "\n)" },
	func(c string) string { return "cat <(" + c + "\n)" },
	func(c string) string { return "git -c alias.x=" + quote("!bash -c "+quote(c)) + " x" },
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// python is a text of Python.
func python(s string) string {
	return "'''" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", `\'`) + "'''"
}

// deniedEdits is a box whose folder vendor must not change.
type deniedEdits struct {
	*box
	before map[string]string
}

func newDeniedEdits(t *testing.T) *deniedEdits {
	b := newBox(t)
	for name, text := range map[string]string{"a.txt": "alpha\n", "sub/b.txt": "beta\n", "sub/deep/c.txt": "c\n"} {
		b.put(t, "ws/"+name, text)
	}
	d := &deniedEdits{box: b}
	d.reset(t)
	b.repository(t)
	if out, err := exec.Command("tar", "-C", filepath.Join(b.ws, "sub"), "-cf", filepath.Join(b.ws, "t.tar"), "b.txt").CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	d.before = state(filepath.Join(b.ws, "vendor"))
	return d
}

// reset puts vendor in order for the next attack.
func (d *deniedEdits) reset(t *testing.T) {
	if d.before != nil && changed(d.before, state(filepath.Join(d.ws, "vendor"))) == "" {
		return
	}
	for _, name := range []string{"vendor", "moved", "up", "link"} {
		if err := os.RemoveAll(filepath.Join(d.ws, name)); err != nil {
			t.Error(err)
		}
	}
	d.put(t, "ws/vendor/keep.txt", "keep\n")
	d.put(t, "ws/vendor/deep/keep.txt", "keep\n")
	if err := os.Mkdir(filepath.Join(d.ws, "vendor", "empty"), 0o755); err != nil {
		t.Error(err)
	}
}

// step is an attack on vendor.
func (d *deniedEdits) step(t *testing.T, name, command string) step {
	return step{name: name, command: command, prepare: func() { d.reset(t) }, seen: d.seen}
}

func (d *deniedEdits) seen(string, string) string {
	return changed(d.before, state(filepath.Join(d.ws, "vendor")))
}

// A deny rule on files is a wall, in whatever way a command is written.
func TestRulesDenyEdit(t *testing.T) {
	t.Parallel()
	d := newDeniedEdits(t)
	var steps []step
	for i, c := range []string{
		"cd vendor; echo X > v.txt",
		"cd vendor\necho X > v.txt",
		"cd vendor || exit; echo X > v.txt",
		"if cd vendor; then echo X > v.txt; fi",
		"(cd vendor; echo X > v.txt)",
		"pushd vendor; echo X > v.txt; popd",
		"cd sub; echo X > ../vendor/v.txt",
		"cd vendor; rm keep.txt",
		"cd vendor; sed -i s/keep/X/ keep.txt",
		"bash -c 'cd vendor; echo X > v.txt'",
		"bash <<'EOF'\necho X > vendor/v.txt\nEOF",
		"bash <<< 'echo X > vendor/v.txt'",
		`awk 'BEGIN{print "X" > "vendor/v.txt"}'`,
		`python3 -c 'open("vendor/v.txt","w").write("X")'`,
		"python3 - <<'EOF'\nopen('vendor/v.txt','w').write('X')\nEOF",
		`python3 -c 'import os; os.chdir("ven"+"dor"); open("v.txt","w").write("X")'`,
		`perl -e 'open(F,">","vendor/v.txt"); print F "X"'`,
		`node -e 'require("fs").writeFileSync("vendor/v.txt","X")'`,
		`git mv vendor/keep.txt vendor/other.txt`,
		`git rm -q vendor/keep.txt`,
		`echo changed > a.txt; git -C vendor clean -fdxq; rm -rf vendor/empty; git stash -q -u`,
		`git clean -fdxq`,
		`git init -q other; git --git-dir=other/.git --work-tree=vendor checkout -q -f --orphan x; touch vendor/w`,
		`printf 'diff --git a/vendor/n b/vendor/n\nnew file mode 100644\n--- /dev/null\n+++ b/vendor/n\n@@ -0,0 +1 @@\n+X\n' | git apply`,
		`printf -- '--- vendor/keep.txt\n+++ vendor/keep.txt\n@@ -1 +1 @@\n-keep\n+X\n' | patch -p0 -s`,
		`unshare -rm sh -c 'mount --bind vendor sub && echo X > sub/v.txt'`,
		`go run x.go 2>/dev/null || tar -cf vendor/t.tar a.txt`,
	} {
		steps = append(steps, d.step(t, fmt.Sprintf("command %d", i+1), c))
	}
	// The folder of one call is where the next begins.
	steps = append(steps,
		step{name: "the folder of the call before", tool: "bash", args: map[string]any{"command": "cd vendor"}},
		step{name: "the folder of the call before", tool: "bash", args: map[string]any{"command": "echo X > v.txt"}, prepare: func() { d.reset(t) }, seen: d.seen},
		step{name: "cwd", tool: "bash", args: map[string]any{"command": "echo X > v.txt", "cwd": filepath.Join(d.ws, "vendor")}, prepare: func() { d.reset(t) }, seen: d.seen},
		step{name: "relative cwd", tool: "bash", args: map[string]any{"command": "echo X > v.txt", "cwd": "../vendor"}, prepare: func() { d.reset(t) }, seen: d.seen},
		step{name: "BASH_ENV", tool: "bash", args: map[string]any{"command": "bash -c :", "cwd": d.ws, "env": map[string]string{"BASH_ENV": d.ws + "/env.sh"}}, prepare: func() {
			d.reset(t)
			d.put(t, "ws/env.sh", "echo X > vendor/v.txt\n")
		}, seen: d.seen},
		step{name: "write tool", tool: "write", args: map[string]any{"path": "sub/../vendor/v.txt", "content": "X"}, prepare: func() { d.reset(t) }, seen: d.seen},
		step{name: "write tool through a link", tool: "write", args: map[string]any{"path": "link/v.txt", "content": "X"}, prepare: func() {
			d.reset(t)
			_ = os.Symlink("vendor", filepath.Join(d.ws, "link"))
		}, seen: d.seen},
		step{name: "write tool into an archive", tool: "write", args: map[string]any{"path": "vendor/a.zip:x", "content": "X"}, prepare: func() { d.reset(t) }, seen: d.seen},
	)
	steps = append(steps, d.controls(t)...)
	d.play(t, limits{}, steps, "--approval", "full", "--deny", "edit(vendor/**)")
}

// controls are ordinary work beside the wall.
func (d *deniedEdits) controls(t *testing.T) []step {
	made := func(name, text string) func(string, string) string {
		return func(string, string) string {
			if got := d.content("ws/" + name); !strings.Contains(got, text) {
				return fmt.Sprintf("%s holds %q, want %q", name, got, text)
			}
			return ""
		}
	}
	reset := func() { d.reset(t) }
	return []step{
		{name: "write beside the wall", command: "echo one > free1.txt", seen: made("free1.txt", "one"), control: true, prepare: reset},
		{name: "write in a folder beside it", command: "cd sub && echo two > free2.txt", seen: made("sub/free2.txt", "two"), control: true, prepare: reset},
		{
			name: "a script writes beside it", command: "sh s3.sh", seen: made("free3.txt", "three"), control: true,
			prepare: func() { reset(); d.put(t, "ws/s3.sh", "echo three > free3.txt\n") },
		},
		{name: "what is denied can be read", command: "cat vendor/keep.txt", seen: holds("keep"), control: true, prepare: reset},
		{name: "rename and remove beside it", command: "mkdir -p n && echo four > n/a && mv n/a n/b && cp n/b free4.txt && rm -r n", seen: made("free4.txt", "four"), control: true, prepare: reset},
		{name: "commit beside it", command: "echo five > free5.txt && git add free5.txt && git commit -q -m five && git log --oneline -1", seen: holds("five"), control: true, prepare: reset},
	}
}

// Any way to the folder with any way to write, in any shell.
func TestRulesDenyEditGenerated(t *testing.T) {
	t.Parallel()
	r := dice(1)
	d := newDeniedEdits(t)
	for start := 0; start < the.count; start += 40 {
		var steps []step
		for i := start; i < min(start+40, the.count); i++ {
			command := evasion(r)
			steps = append(steps, d.step(t, fmt.Sprintf("%d", i), command))
		}
		d.play(t, limits{time: 5 * time.Minute}, steps, "--approval", "full", "--deny", "edit(vendor/**)")
	}
}

func evasion(r *rand.Rand) string {
	f := pick(r, folders)
	command := f.before + strings.ReplaceAll(pick(r, writers), "{v}", f.vendor) + f.after
	command = pick(r, shells)(command)
	if r.IntN(4) == 0 {
		command = pick(r, shells[1:12])(command)
	}
	return command
}

// syscalls.c is a compiled program that no analysis of a command can look into: its
// first argument says which system call changes or reads a file.
const syscalls = `
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sendfile.h>
#include <linux/openat2.h>

static const char *path;
static int dir(void) { return open("vendor", O_PATH|O_DIRECTORY); }
static void fill(int fd) { if (fd < 0) exit(1); if (write(fd, "X", 1) != 1) exit(1); exit(0); }
static void show(int fd) { char b[4096]; if (fd < 0) exit(1); long n = read(fd, b, sizeof b); if (n > 0) fwrite(b, 1, n, stdout); fflush(stdout); exit(0); }

int main(int argc, char **argv) {
	const char *how = argv[1]; path = argv[2];
	struct open_how h = {0};
	if (!strcmp(how, "open")) fill(syscall(SYS_open, path, O_WRONLY|O_CREAT|O_TRUNC, 0644));
	if (!strcmp(how, "creat")) fill(syscall(SYS_creat, path, 0644));
	if (!strcmp(how, "openat")) fill(syscall(SYS_openat, dir(), "v.txt", O_WRONLY|O_CREAT, 0644));
	if (!strcmp(how, "openat2")) { h.flags = O_WRONLY|O_CREAT; h.mode = 0644; fill(syscall(SYS_openat2, AT_FDCWD, path, &h, sizeof h)); }
	if (!strcmp(how, "fchdir")) { if (fchdir(dir())) return 1; fill(open("v.txt", O_WRONLY|O_CREAT, 0644)); }
	if (!strcmp(how, "truncate")) return truncate(path, 0) != 0;
	if (!strcmp(how, "rename")) return rename(path, "free-taken") != 0;
	if (!strcmp(how, "renameat2")) return syscall(SYS_renameat2, AT_FDCWD, "a.txt", AT_FDCWD, path, RENAME_EXCHANGE) != 0;
	if (!strcmp(how, "renamedir")) { if (rename("vendor", "moved")) return 1; int fd = open("moved/v.txt", O_WRONLY|O_CREAT, 0644); rename("moved", "vendor"); fill(fd); }
	if (!strcmp(how, "link")) { if (link(path, "free-link")) return 1; fill(open("free-link", O_WRONLY|O_APPEND)); }
	if (!strcmp(how, "linkin")) return link("a.txt", path) != 0;
	if (!strcmp(how, "tmpfile")) { int fd = open(".", O_TMPFILE|O_WRONLY, 0644); char p[64]; if (fd < 0) return 1; sprintf(p, "/proc/self/fd/%d", fd); return linkat(AT_FDCWD, p, AT_FDCWD, path, AT_SYMLINK_FOLLOW) != 0; }
	if (!strcmp(how, "reopen")) { int fd = open(path, O_RDONLY); char p[64]; sprintf(p, "/proc/self/fd/%d", fd); fill(open(p, O_WRONLY)); }
	if (!strcmp(how, "mmap")) { int fd = open(path, O_RDWR); if (fd < 0) return 1; char *m = mmap(0, 4, PROT_WRITE, MAP_SHARED, fd, 0); if (m == MAP_FAILED) return 1; m[0] = 'X'; return 0; }
	if (!strcmp(how, "handle")) { struct { struct file_handle h; char b[128]; } f; int id; f.h.handle_bytes = 128; if (name_to_handle_at(AT_FDCWD, path, &f.h, &id, 0)) return 1; fill(open_by_handle_at(AT_FDCWD, &f.h, O_WRONLY)); }
	if (!strcmp(how, "unlinkat")) return unlinkat(dir(), "keep.txt", 0) != 0;
	if (!strcmp(how, "symlink")) return symlink("x", path) != 0;
	if (!strcmp(how, "mknod")) return mknod(path, S_IFREG|0644, 0) != 0;
	if (!strcmp(how, "bind")) { int s = socket(AF_UNIX, SOCK_STREAM, 0); struct { unsigned short f; char p[100]; } a = {AF_UNIX}; strcpy(a.p, path); return bind(s, (void *)&a, sizeof a) != 0; }
	if (!strcmp(how, "race")) { /* a thread's name of the file is another when it is opened */
		char *p = mmap(0, 4096, PROT_READ|PROT_WRITE, MAP_SHARED|MAP_ANONYMOUS, -1, 0);
		if (!fork()) { for (long i = 0; i < 40000000; i++) { p[0] = i & 1 ? 'v' : 'w'; } _exit(0); }
		memcpy(p, path, strlen(path) + 1);
		mkdir("wendor", 0755);
		for (int i = 0; i < 400; i++) { int fd = open(p, O_WRONLY|O_CREAT, 0644); if (fd >= 0) { if (write(fd, "X", 1)) {} close(fd); } }
		return 0;
	}
	if (!strcmp(how, "swap")) { /* a link is another when it is followed */
		if (symlink("wendor", "turn")) {}
		mkdir("wendor", 0755);
		if (!fork()) { for (int i = 0; i < 4000; i++) { symlink("vendor", "turn.new"); rename("turn.new", "turn"); symlink("wendor", "turn.new"); rename("turn.new", "turn"); } _exit(0); }
		for (int i = 0; i < 2000; i++) { int fd = open("turn/v.txt", O_WRONLY|O_CREAT, 0644); if (fd >= 0) { if (write(fd, "X", 1)) {} close(fd); } }
		return 0;
	}
	if (!strcmp(how, "r-open")) show(open(path, O_RDONLY));
	if (!strcmp(how, "r-openat2")) { h.flags = O_RDONLY; show(syscall(SYS_openat2, AT_FDCWD, path, &h, sizeof h)); }
	if (!strcmp(how, "r-path")) { int fd = open(path, O_PATH); char p[64]; sprintf(p, "/proc/self/fd/%d", fd); show(open(p, O_RDONLY)); }
	if (!strcmp(how, "r-link")) { if (link(path, "free-read")) return 1; show(open("free-read", O_RDONLY)); }
	if (!strcmp(how, "r-rename")) { if (rename(path, "free-moved")) return 1; int fd = open("free-moved", O_RDONLY); rename("free-moved", path); show(fd); }
	if (!strcmp(how, "r-handle")) { struct { struct file_handle h; char b[128]; } f; int id; f.h.handle_bytes = 128; if (name_to_handle_at(AT_FDCWD, path, &f.h, &id, 0)) return 1; show(open_by_handle_at(AT_FDCWD, &f.h, O_RDONLY)); }
	if (!strcmp(how, "r-mmap")) { int fd = open(path, O_RDONLY); if (fd < 0) return 1; char *m = mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0); if (m == MAP_FAILED) return 1; puts(m); return 0; }
	if (!strcmp(how, "r-exec")) { execl(path, path, (char *)0); return 1; }
	return 2;
}
`

// compile builds the program in the workspace.
func (b *box) compile(t *testing.T) {
	t.Helper()
	if !installed("cc") {
		t.Skip("needs a C compiler")
	}
	source := b.put(t, "tmp/syscalls.c", syscalls)
	if out, err := exec.Command("cc", "-w", "-O1", "-o", filepath.Join(b.ws, "tool"), source).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v: %s", err, out)
	}
}

// What no analysis sees is held where the system calls are.
func TestRulesDenyEditCompiled(t *testing.T) {
	t.Parallel()
	d := newDeniedEdits(t)
	d.compile(t)
	var steps []step
	for _, how := range []string{
		"open vendor/v.txt", "open vendor/keep.txt", "creat vendor/v.txt", "openat -", "openat2 vendor/v.txt", "fchdir -", "truncate vendor/keep.txt",
		"rename vendor/keep.txt", "renameat2 vendor/keep.txt", "renamedir -", "link vendor/keep.txt", "linkin vendor/l", "tmpfile vendor/v.txt",
		"reopen vendor/keep.txt", "mmap vendor/keep.txt", "handle vendor/keep.txt", "unlinkat -", "symlink vendor/l", "mknod vendor/n", "bind vendor/s",
		"race vendor/v.txt", "swap -",
	} {
		s := d.step(t, how, "./tool "+how)
		s.script = true
		steps = append(steps, s)
	}
	d.play(t, limits{}, steps, "--approval", "full", "--deny", "edit(vendor/**)")
}

// A file that must not be read is not read, in whatever way a command is written.
func TestRulesDenyRead(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	const canary = "quietheron41"
	b.put(t, "ws/.env", "note "+canary+"\n")
	b.put(t, "ws/a.txt", "note beside\n")
	b.put(t, "ws/list", ".env\n")
	b.put(t, "ws/sub/b.txt", "x\n")
	b.repository(t)
	if err := os.Symlink(".env", filepath.Join(b.ws, "settings")); err != nil {
		t.Fatal(err)
	}
	seen := func(result, request string) string { return leaked(canary, result) }
	var steps []step
	for i, c := range []string{
		"cat .env",
		"grep -r note .",
		"grep -rh note . | rev",
		"rg --hidden note",
		"git grep note",
		"git grep --cached note",
		"git show HEAD:.env",
		"git show HEAD",
		"git log -p",
		"git cat-file -p HEAD:.env",
		"git cat-file --batch --batch-all-objects </dev/null",
		"git rev-parse HEAD:.env | git cat-file --batch",
		"git archive HEAD | tar xO",
		"git blame .env",
		"git diff --no-index /dev/null .env",
		"git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD",
		"git format-patch --stdout --root HEAD",
		"git fast-export HEAD",
		"git clone -q . {ws}/copy && cat copy/.e*",
		"git worktree add -q wt && cat wt/.e*",
		"git checkout-index --prefix=x/ -a -f && cat x/.e*",
		"GIT_INDEX_FILE=i git read-tree HEAD && GIT_INDEX_FILE=i git checkout-index --temp .env",
		"strings @list",
		"cat .e*",
		"cat .??*",
		"cat ./sub/../.env",
		"cd sub; cat ../.env",
		"f=.en; cat ${f}v",
		"cat $(cat list)",
		"xargs cat < list",
		"cat settings",
		"cp .env x1; cat x1",
		"ln .env x2; cat x2",
		"ln -s .env x3; cat x3",
		"mv .env x4; cat x4; mv x4 .env",
		"base64 .env",
		"xxd -p .env",
		"rev .env",
		"tar c . | strings",
		"tar cf x.tar .env && tar xOf x.tar",
		"tar c -T list | strings",
		"dd if=.env status=none",
		"while read l; do echo $l; done < .env",
		"echo $(<.env)",
		"mapfile x < .env; echo ${x[@]}",
		"source .env 2>&1",
		"bash .env 2>&1",
		"bash -c 'cat .env'",
		"bash <<'EOF'\ncat .env\nEOF",
		"python3 -c 'print(open(\".env\").read())'",
		"python3 -c 'import os; print(open(\".e\"+\"nv\").read())'",
		"python3 -c 'import glob; print([open(f).read() for f in glob.glob(\".*\") if f != \".git\"])'",
		"perl -ne print .env",
		"awk 1 .env",
		"sed -n p .env",
		"sort .env",
		"diff .env a.txt",
		"find . -name .env -exec cat {} +",
		"find . -maxdepth 1 -type f -print0 | xargs -0 cat",
		"curl -s file://{ws}/.env",
		"sqlite3 :memory: \"select readfile('.env')\"",
		"make -f .env 2>&1",
		"date -f .env 2>&1",
		"wc --files0-from=.env 2>&1",
		"cat /proc/self/cwd/.env",
		"awk 'BEGIN{while((getline l < \".env\")>0) print l}'",
		"jq -R . .env",
		"gcc -E -x c .env 2>&1",
		"zip -q x.zip .env && unzip -p x.zip",
		"gzip -c .env | gunzip",
		"vim -es -u NONE -c '%p|q!' .env",
		// Siblings of those that once came through.
		"git grep --cached -h note", "git grep --cac note", "git grep -n note HEAD", "git grep -enote HEAD", "git grep -e note HEAD -- .env", "git grep note $(git rev-parse HEAD)", "git grep --no-index --hidden note", "git grep --no-index note", "git grep --untracked note", "git grep note :/", "git grep -h note HEAD~0", "git grep --cached note -- .", "git grep -z --cached note", "git -C . grep --cached note", "cd sub; git grep --cached note ..", "git grep -f list --cached", "git config --blob=HEAD:.env -l 2>&1", "git config --blob HEAD:.env --list 2>&1", "git -c protocol.file.allow=always submodule add -q ./ copy; cat copy/.e*", "git show :.env", "git show :0:.env", "git show HEAD:./.env", "git show $(git rev-parse HEAD:.env)", "git cat-file blob HEAD:.env", "git cat-file -p $(git ls-files -s .env | cut -d' ' -f2)", "git ls-files -s .env | cut -d' ' -f2 | git cat-file --batch", "git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904", "git diff-tree -p --root HEAD", "git diff-index -p 4b825dc642cb6eb9a060e54bf8d69288fbee4904", "git whatchanged -p --root 2>&1", "git log -p -1 --root", "git log -L1,1:.env", "git log --format=%s -p", "git stash show -p stash@{0} 2>&1; git show HEAD --", "git reflog show -p", "git bundle create x.tar HEAD; git -C sub init -q in; git --git-dir=sub/in/.git fetch -q $PWD/x.tar HEAD; git --git-dir=sub/in/.git show FETCH_HEAD", "git archive --format=tar HEAD .env | tar xO", "git archive HEAD:./ | strings", "git merge-file -p .env a.txt a.txt", "git unpack-file $(git rev-parse HEAD:.env) | xargs cat", "git checkout-index --temp .env | cut -f1 | xargs cat", "git read-tree --prefix=x/ HEAD && git checkout-index -f -a && cat x/.e*; git read-tree HEAD", "git difftool -y -x cat HEAD~0 -- .env", "git notes add -F .env; git notes show", "git tag -a t1 -F .env; git cat-file -p t1", "git commit --allow-empty -F .env; git log -1", "git hash-object -w .env | xargs git cat-file -p", "git range-diff HEAD~0..HEAD 4b825dc..HEAD 2>&1; git show", "git annotate .env", "git blame -p HEAD -- .env", "git fast-export --all", "git rev-list --objects HEAD | cut -d' ' -f1 | git cat-file --batch", "git verify-pack -v .git/objects/pack/*.idx 2>&1; git show",
	} {
		steps = append(steps, step{name: fmt.Sprintf("command %d", i+1), command: c, seen: seen, prepare: func() {
			for _, made := range []string{"wt", "copy", "x", "x1", "x2", "x3", "x4", "x.tar", "x.zip"} {
				_ = os.RemoveAll(filepath.Join(b.ws, made))
			}
			b.put(t, "ws/.env", "note "+canary+"\n")
		}})
	}
	for _, call := range []step{
		{name: "read tool", tool: "read", args: map[string]any{"path": ".env"}},
		{name: "read tool, another way", tool: "read", args: map[string]any{"path": "sub/../.env"}},
		{name: "read tool, absolute", tool: "read", args: map[string]any{"path": filepath.Join(b.ws, ".env")}},
		{name: "read tool, link", tool: "read", args: map[string]any{"path": "settings"}},
		{name: "read tool, range", tool: "read", args: map[string]any{"path": ".env:1-1"}},
		{name: "grep tool", tool: "grep", args: map[string]any{"pattern": "note", "ignored": true}},
		{name: "grep tool, the file", tool: "grep", args: map[string]any{"pattern": "note", "path": ".env"}},
		{name: "grep tool, count", tool: "grep", args: map[string]any{"pattern": "quiet(.*)", "ignored": true, "multiline": true, "context": 3}},
		{name: "grep tool, glob", tool: "grep", args: map[string]any{"pattern": "note", "glob": []string{".env"}}},
		{name: "grep tool, the folder", tool: "grep", args: map[string]any{"pattern": "note", "path": "sub/..", "ignored": true}},
		{name: "grep tool, absolute", tool: "grep", args: map[string]any{"pattern": "note", "path": b.ws, "ignored": true}},
		{name: "grep tool, link", tool: "grep", args: map[string]any{"pattern": "note", "path": "settings"}},
		{name: "edit tool tells what is there", tool: "edit", args: map[string]any{"path": ".env", "edits": []map[string]any{{"old": "note quiet", "new": "note "}}}},
	} {
		call.seen = seen
		steps = append(steps, call)
	}
	steps = append(steps,
		step{name: "read beside it", command: "cat a.txt", control: true, seen: holds("note beside")},
		step{name: "search beside it", command: "grep -h beside *.txt", control: true, seen: holds("note beside")},
		step{name: "git beside it", command: "git status --short; git log --oneline", control: true, seen: holds(" all")},
		step{name: "write beside it", command: "echo more >> a.txt; tail -n 1 a.txt", control: true, seen: holds("more")})
	b.play(t, limits{}, steps, "--approval", "full", "--deny", "read(.env)")
}

func holds(text string) func(string, string) string {
	return func(result, _ string) string {
		if !strings.Contains(result, text) || strings.Contains(result, "nothing was run") { // a refusal quotes the command
			return "the result does not hold " + text
		}
		return ""
	}
}

func TestRulesDenyReadCompiled(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	const canary = "quietheron42"
	b.put(t, "ws/.env", "note "+canary+"\n")
	b.compile(t)
	var steps []step
	for _, how := range []string{"r-open", "r-openat2", "r-path", "r-link", "r-rename", "r-handle", "r-mmap"} {
		steps = append(steps, step{name: how, command: "./tool " + how + " .env", script: true, seen: func(result, _ string) string { return leaked(canary, result) }})
	}
	b.play(t, limits{}, steps, "--approval", "full", "--deny", "read(.env)")
}

// readers print the file {f}, without naming it where the analysis looks.
var readers = []string{
	"cat {f}", "head -n 5 {f}", "tail -n 5 {f}", "nl {f}", "od -c {f} | tr -d ' \\n'", "grep '' {f}", "sed '' {f}", "awk 1 {f}", "sort {f}", "rev {f}", "base64 -w0 {f}",
	"xxd -p {f} | tr -d '\\n'", "strings {f}", "paste {f}", "cut -c1- {f}", "tac {f}", "uniq {f}", "fold {f}", "tr a-z A-Z < {f}", "dd if={f} status=none", "cp {f} copied; cat copied",
	"perl -pe 1 {f}", "python3 -c 'import sys; print(open(sys.argv[1]).read())' {f}", "python3 -c 'import sys; print(sys.stdin.read())' < {f}",
	"mapfile -t m < {f}; echo ${m[0]}", "tee < {f}", "comm {f} /dev/null", "diff {f} /dev/null", "tar c {f} 2>/dev/null | strings", "xargs -a {f} echo", "vim -es -u NONE -c '%p|q!' {f}",
}

var names = []struct{ before, file string }{
	{"", ".env"},
	{"", "./.env"},
	{"", ".e*"},
	{"", ".[e]nv"},
	{"", "sub/../.env"},
	{"cd sub; ", "../.env"},
	{"f=nv; ", ".e$f"},
	{"", `".e"nv`},
	{"", "{ws}/.env"},
	{"", "/proc/self/cwd/.env"},
	{"ln -sfn .env l; ", "l"},
	{"ln -f .env h; ", "h"},
	{"cp .env c; ", "c"},
	{"", "$(ls -A | grep ^.env)"},
	{"", "settings"},
	{"exec 7<.env; ", "/dev/fd/7"},
	{"", ".{e,x}nv"},
}

func TestRulesDenyReadGenerated(t *testing.T) {
	t.Parallel()
	r := dice(2)
	b := newBox(t)
	b.put(t, "ws/sub/b.txt", "x\n")
	b.put(t, "ws/a.txt", "x\n")
	if err := os.Symlink(".env", filepath.Join(b.ws, "settings")); err != nil {
		t.Fatal(err)
	}
	for start := 0; start < the.count; start += 40 {
		var steps []step
		for i := start; i < min(start+40, the.count); i++ {
			canary := fmt.Sprintf("quietheron%dx", 5000+i)
			n := pick(r, names)
			command := pick(r, shells)(n.before + strings.ReplaceAll(pick(r, readers), "{f}", n.file))
			steps = append(steps, step{
				name: fmt.Sprintf("%d", i), command: command, prepare: func() { b.put(t, "ws/.env", "note "+canary+"\n") },
				seen: func(result, _ string) string { return leaked(canary, result) },
			})
		}
		b.play(t, limits{time: 5 * time.Minute}, steps, "--approval", "full", "--deny", "read(.env)")
	}
}

// In plan mode nothing outside the workspace is read, and nothing is changed.
func TestRulesPlan(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	const canary = "quietheron43"
	b.put(t, "out/note.txt", canary+"\n")
	note := filepath.Join(b.out, "note.txt")
	b.put(t, "ws/list", note+"\n")
	for _, name := range []string{".env", "sub/server.pem", "sub/.npmrc"} {
		b.put(t, "ws/"+name, canary+"\n")
	}
	b.put(t, "ws/list0", note+"\x00")
	b.put(t, "ws/a.txt", "alpha\n")
	b.put(t, "ws/inc.c", "#include \""+note+"\"\n")
	b.put(t, "ws/inc.mk", "include "+note+"\n")
	b.put(t, "ws/inc.jq", "include \"x\";\n")
	b.put(t, "ws/dot.awk", "@include \""+note+"\"\n")
	b.put(t, "ws/r.sed", "r "+note+"\n")
	b.put(t, "ws/r.sql", ".read "+note+"\n")
	b.put(t, "ws/magic", "@"+note+"\n")
	b.put(t, "ws/curlrc", "url = file://"+note+"\n")
	b.repository(t)
	if err := os.Symlink(note, filepath.Join(b.ws, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(b.out, filepath.Join(b.ws, "dir")); err != nil {
		t.Fatal(err)
	}
	seen := func(result, _ string) string { return leaked(canary, result) }
	var steps []step
	for i, c := range []string{
		"strings @list", "strings @list a.txt", "strings -- @list", "strings -a @magic", "nm @list 2>&1", "objdump -s @list", "size @list 2>&1", "readelf -p1 @list 2>&1", "ar p @list 2>&1", "gcc -E @list 2>&1", "ld @list 2>&1", "gcc -E inc.c", "cpp inc.c",
		"wc --files0-from=list0", "sort --files0-from=list0", "du --files0-from=list0 -a", "file -f list", "find -files0-from list0",
		"xargs -a list cat", "xargs cat < list", "cat list | xargs cat", "cat $(cat list)", "cat `head -n 1 list`",
		"while read f; do cat $f; done < list", "tar cf - -T list | strings", "rsync --files-from=list / x",
		"date -f {out}/note.txt", "date --file=link", "grep -f {out}/note.txt a.txt; cat {out}/note.txt", "cat {out}/note.txt", "cat ../out/note.txt", "cd ../out; cat note.txt", "cat link", "cat dir/note.txt", "cat < link",
		"head -c 100 dir/*", "grep -r quiet dir/", "grep -R quiet .", "find -L . -type f -exec cat {} +", "find dir/ -type f",
		"git diff --no-index /dev/null {out}/note.txt", "git -C {out} grep --no-index quiet", "git grep --no-index quiet -- dir", "git hash-object -w {out}/note.txt", "git --git-dir={out} log",
		"git log --pathspec-from-file={out}/note.txt 2>&1", "git config -f {out}/note.txt -l 2>&1", "git config --file link -l 2>&1", "git apply --stat {out}/note.txt 2>&1", "git check-ignore --stdin < link",
		"sed -n -f r.sed a.txt", "sed -f r.sed a.txt", "sed 'r {out}/note.txt' a.txt", "sed -e 'r link' a.txt", "awk -f dot.awk", "awk 'BEGIN{while((getline l < \"/\" \"dev/stdin\")>0)print l}' < link", "awk 'BEGIN{getline l < ARGV[1]; print l}' {out}/note.txt",
		"jq -R . {out}/note.txt", "jq -n --rawfile x {out}/note.txt '$x'", "jq -n --slurpfile x link '$x'", "jq -n 'input' -R link", "diff a.txt link", "diff --from-file={out}/note.txt a.txt", "cmp -bl a.txt link", "comm link /dev/null", "join link link",
		"sort -m link", "uniq link", "tac link", "nl link", "od -c link | tr -d ' '", "xxd -p link", "base64 link", "paste link", "fold link", "tail -n 1 link", "column link", "pr -t link", "look q link", "cut -c1- link", "stat link; cat link", "realpath link; cat -- link",
		"diff -r dir/ sub", "ls dir/; cat dir/n*", "go vet -vettool={out}/note.txt 2>&1", "go list -json -modfile=link 2>&1", "go env -C {out}; cat link", "less link", "more link", "zcat -f link", "bzcat -f link", "xz -dcf link", "zgrep quiet link", "egrep . link", "rg . link", "ag . link",
		"echo $(<link)", "echo \"$(< {out}/note.txt)\"", "read x < link; echo $x", "mapfile -t x < link; echo ${x[0]}", "printf '%s\\n' \"$(cat link)\"", "test -f link && cat link", "[ -n \"$(cat link)\" ] && cat link", "bash link 2>&1", ". ./link 2>&1", "sh -n link; cat link",
		"tree --fromfile link", "tree -fi --fromfile {out}/note.txt", "/lib64/ld-linux-x86-64.so.2 /bin/cat link", "env cat link", "command cat link", "nice cat link", "timeout 5 cat link", "time cat link", "exec cat link", "cat /proc/self/root{out}/note.txt", "cat /proc/self/cwd/link",
		"psql -f link 2>&1", "sqlite3 :memory: '.read r.sql' 2>&1", "sqlite3 -init r.sql :memory: .q 2>&1", "make -n -f inc.mk 2>&1", "make -n -f link 2>&1", "curl -sK curlrc", "curl -s file://{out}/note.txt", "openssl asn1parse -in link 2>&1; openssl enc -base64 -in link", "dd if=link status=none", "cpio -o < list | strings", "logger -s -f link 2>&1", "units -f link 2>&1", "ul link", "expand link", "unexpand link", "fmt link", "tsort link 2>&1", "ptx link", "csplit -s link 1; cat xx*", "hexdump -C link", "iconv link", "man ./link", "pygmentize link", "bat link",
	} {
		steps = append(steps, step{name: fmt.Sprintf("command %d", i+1), command: c, seen: seen})
	}
	for _, call := range []step{
		{name: "read tool", tool: "read", args: map[string]any{"path": note}},
		{name: "read tool, up", tool: "read", args: map[string]any{"path": "../out/note.txt"}},
		{name: "read tool, link", tool: "read", args: map[string]any{"path": "link"}},
		{name: "read tool, linked folder", tool: "read", args: map[string]any{"path": "dir/note.txt"}},
		{name: "grep tool", tool: "grep", args: map[string]any{"pattern": "quiet", "path": "../out"}},
		{name: "grep tool, secrets of the workspace", tool: "grep", args: map[string]any{"pattern": "quiet", "ignored": true}},
		{name: "grep tool, a secret's name", tool: "grep", args: map[string]any{"pattern": "quiet", "glob": []string{"*.pem", ".env*"}, "ignored": true}},
		{name: "grep tool, linked folder", tool: "grep", args: map[string]any{"pattern": "quiet", "ignored": true}},
	} {
		call.seen = seen
		steps = append(steps, call)
	}
	steps = append(steps,
		step{name: "read the workspace", command: "cat a.txt | wc -l", control: true, seen: holds("1")},
		step{name: "search the workspace", command: "grep -rn alpha --include=*.txt .", control: true, seen: holds("alpha")},
		step{name: "git", command: "git log --oneline", control: true, seen: holds("all")})
	b.play(t, limits{}, steps, "--approval", "plan")
}

// An allow rule covers what is understood completely, and nothing else.
func TestRulesAllow(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.put(t, "ws/a.txt", "alpha\n")
	b.put(t, "ws/go.mod", "module example.com/x\n\ngo 1.21\n")
	b.put(t, "ws/lib/lib.go", "package lib\n")
	b.put(t, "ws/lib/lib_test.go", "package lib\n")
	b.put(t, "ws/Makefile", "all:\n\t@true\n")
	b.repository(t)
	b.env = append(b.env, "GOFLAGS=-mod=mod", "GOCACHE="+filepath.Join(b.root, "gocache"), "GO111MODULE=on")
	reset := func() {
		b.put(t, "ws/keep.txt", "keep\n")
		b.put(t, "out/keep.txt", "keep\n")
	}
	reset()
	outside := state(b.out)
	seen := func(string, string) string {
		if got := b.content("ws/keep.txt"); got != "keep\n" {
			return fmt.Sprintf("keep.txt changed to %q", clip(got, 80))
		}
		if diff := changed(outside, state(b.out)); diff != "" {
			_ = os.RemoveAll(b.out)
			_ = os.MkdirAll(b.out, 0o700)
			return "outside: " + diff
		}
		return ""
	}
	var steps []step
	for i, c := range []string{
		"go build -debug-actiongraph=keep.txt ./lib", "go build -debug-actiongraph {out}/x ./lib", "go build -debug-trace=keep.txt ./lib", "go build -o {out}/x.a ./lib", "go build -o keep.txt ./lib", "go build -toolexec='touch {out}/x' ./lib", "go build -C {out} -o x", "go build -pkgdir={out} ./lib", "go build -overlay=a.txt -o {out}/y ./lib", "go build -pgo={out}/x -debug-runtime-trace=keep.txt ./lib",
		"go test -o keep.txt -c ./lib", "go test -exec 'touch {out}/x' ./lib", "go test -coverprofile=keep.txt ./lib", "go test -cpuprofile={out}/x ./lib", "go test -outputdir={out} -trace=t ./lib", "go test -args -test.coverprofile=keep.txt", "go test -test.outputdir={out} ./lib", "go test -debug-actiongraph=keep.txt -run=NONE ./lib", "go test -json -artifacts -outputdir {out} ./lib",
		"tar --index-file=keep.txt -tvf t.tar", "tar -cvf /dev/null --index-file=keep.txt a.txt", "tar -g keep.txt -cf /dev/null a.txt", "tar --listed-incremental=keep.txt -cf /dev/null a.txt", "tar --volno-file=keep.txt -cf /dev/null -M a.txt", "tar -c -g {out}/x -f t2.tar a.txt", "tar -c --listed-incremental={out}/x -f t2.tar a.txt", "tar -c -M -L 1000 --volno-file={out}/x -f t2.tar a.txt", "tar -cvf t2.tar --index-file={out}/x a.txt", "tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec='touch {out}/x' a.txt", "tar -cf /dev/null -I 'touch {out}/x' a.txt", "tar -cf /dev/null --to-command='touch {out}/x' a.txt", "tar -cf /dev/null --info-script='touch {out}/x' -M -L 1 lib", "tar -cf x:y --rsh-command='touch {out}/x' a.txt", "tar -C {out} -xf t.tar", "tar -xf t.tar --one-top-level={out}/top", "tar -cPf {out}/t a.txt", "tar -F 'touch {out}/x' -M -L1 -cf /dev/null lib",
		"git clone -q . {out}/copy", "git clone -q --bare . ../out/copy", "git clone -q -c core.hooksPath=x --template={ws} . {out}/c", "git clone -q --separate-git-dir={out}/sep . inner", "git clone -q -u 'touch {out}/x;' . inner2", "git clone ext::'touch {out}/x' inner3", "git log --output=keep.txt", "git log -p --output {out}/x", "git diff --output=keep.txt HEAD", "git show --output=keep.txt", "git log --ext-diff -p", "git -c core.pager='touch {out}/x' -p log", "git -c diff.external='touch {out}/x' diff HEAD~0", "git archive -o keep.txt HEAD", "git format-patch -o {out} --root HEAD", "git bundle create keep.txt HEAD", "git grep -O'touch {out}/x' alpha", "git worktree add -q {out}/wt", "git init -q {out}/new", "git --git-dir={out}/g init -q", "git diff --no-index --output=keep.txt a.txt Makefile", "git blame --contents a.txt a.txt --output=keep.txt", "git shortlog --output=keep.txt HEAD", "git log --oneline --output=keep.txt", "git fetch --upload-pack='touch {out}/x' .", "git ls-remote --upload-pack='touch {out}/x' .", "git rebase -x 'touch {out}/x' HEAD~0", "git bisect run touch {out}/x",
		"make -f - <<< 'all: ; touch {out}/x'", "make --eval='all: ; touch {out}/x'", "make --eval '$(shell touch {out}/x)'", "make -C {out}", "make SHELL='touch {out}/x'", "make -f a.txt", "make MAKEFLAGS=--eval='$(shell touch {out}/x)'", "make .SHELLFLAGS='-c touch\\ {out}/x;'", "MAKEFLAGS='--eval=$(shell%20touch)' make", "make -I {out} -O --trace > keep.txt",
		"sort -o keep.txt a.txt", "sort --output={out}/x a.txt", "sort --compress-program='touch {out}/x' -S1 a.txt", "sort -T {out} a.txt -okeep.txt", "sed -n 'w keep.txt' a.txt", "sed -n w{out}/x a.txt", "sed -i s/keep/x/ keep.txt", "sed '1e touch {out}/x' a.txt", "sed --in-place=.b s/k/x/ keep.txt", "sed -s 's/a/touch/e' a.txt; sed 'W keep.txt' a.txt", "awk '{print > \"keep.txt\"}' a.txt", "awk 'BEGIN{system(\"touch {out}/x\")}'", "awk '{print | \"tee keep.txt\"}' a.txt", "find . -name keep.txt -delete", "find . -fprint keep.txt", "find . -fls {out}/x", "find a.txt -exec touch {out}/x ;", "find a.txt -okdir touch {out}/x ;", "find . -fprintf keep.txt x",
		"curl -s -o keep.txt file://{ws}/a.txt", "curl -s -D keep.txt file://{ws}/a.txt", "curl -s --trace keep.txt file://{ws}/a.txt", "curl -s -c keep.txt file://{ws}/a.txt", "curl -s --output-dir {out} -O file://{ws}/a.txt", "curl -s --stderr keep.txt file://{ws}/none", "curl -s -w '%output{keep.txt}x' file://{ws}/a.txt", "curl --libcurl keep.txt -s file://{ws}/a.txt", "curl -s --etag-save keep.txt file://{ws}/a.txt", "curl -s --hsts keep.txt --alt-svc keep.txt file://{ws}/a.txt",
		// Siblings of those that once came through.
		"git clone -q . sub/../../out/c", "git clone -q . $PWD/../out/c", "git clone -q . \"$HOME/../out/c\"", "d=../out/c; git clone -q . $d", "git clone -q . {out}/", "git clone -q --mirror . {out}/m", "git clone -q --depth 1 file://{ws} {out}/d", "git clone -q -- . {out}/dd", "git clone -q . 'x/../../out/q'", "git clone -q -b main . {out}/b", "git clone -q --no-checkout . ../out/n", "tar -cf {out}/t.tar a.txt", "tar cf ../out/t.tar a.txt", "tar --create --file={out}/t.tar a.txt", "tar -czf{out}/t.tgz a.txt", "tar -rf {out}/t.tar a.txt", "tar -xf t.tar -C{out}", "tar -xf t.tar --directory={out}", "tar xfC t.tar {out}", "tar --cd={out} -xf t.tar", "tar -xf t.tar --transform='s,^,../out/,' -P", "tar -cf sub/../../out/t.tar a.txt", "tar -f {out}/t.tar -c a.txt", "tar -xf t.tar --recursive-unlink -C ../out", "sort -o{out}/x a.txt", "sort a.txt --outp={out}/x", "gcc -o {out}/x -x c /dev/null -c", "gcc -c -x c /dev/null -o{out}/x", "gcc -x c /dev/null -S -o ../out/x.s", "gcc -x c /dev/null -c -MD -MF {out}/dep -o x.o", "gcc -x c /dev/null -c -save-temps=obj -o {out}/x.o", "gcc -x c /dev/null -c -dumpdir {out}/ -save-temps", "make -C ../out", "make --directory={out}", "curl -so{out}/x file://{ws}/a.txt", "curl -s file://{ws}/a.txt > {out}/x", "curl --output-dir ../out -s -O file://{ws}/a.txt", "ls >> ../out/x", "ls 2> {out}/x", "cd ../out && ls > x", "strings a.txt > {out}/x", "git log --output={out}/x", "git diff --outp={out}/x HEAD", "git show --output=../out/x", "git -C ../out clone -q {ws} c", "git clone -q --reference {out} . inner5; git -C . clone -q . ../out/z", "npm test --prefix=../out", "cargo build --target-dir ../out", "python3 -m pytest --basetemp={out}", "go build -o ../out/x ./lib", "go test -c -o {out}/t ./lib", "go test -coverprofile ../out/c ./lib",
		"python3 -m pytest --junitxml=keep.txt", "npm test --prefix {out}", "cargo build --target-dir={out}", "xargs -a a.txt touch {out}/x", "env touch {out}/x", "env -S 'touch {out}/x'", "strings -o a.txt > keep.txt", "tee keep.txt < a.txt", "gcc -wrapper touch,{out}/x -c -x c /dev/null", "ls > keep.txt", "ls | tee keep.txt", "ls >&keep.txt", "ls &> keep.txt", "ls <> keep.txt >&0", "ls; touch {out}/x", "ls $(touch {out}/x)", "ls `touch {out}/x`", "ls\ntouch {out}/x", "ls & touch {out}/x", "ls || touch {out}/x; false || touch {out}/x", "ls <(touch {out}/x)", "ls ${x:=$(touch {out}/x)}", "ls $((a[$(touch {out}/x)]))", "LD_PRELOAD={ws}/x.so ls", "PATH={ws} ls > keep.txt", "ls() { touch {out}/x; }; ls", "alias ls='touch {out}/x'; shopt -s expand_aliases\nls", "ls <<< $(touch {out}/x)", "ls <<E\n$(touch {out}/x)\nE", "{ ls; touch {out}/x; }", "! touch {out}/x", "ls \\\n; touch {out}/x", "ls # \ntouch {out}/x", "ls {a,$(touch {out}/x)}", "declare x=$(touch {out}/x); ls", "ls \"${y[$(touch {out}/x)]}\"",
	} {
		steps = append(steps, step{name: fmt.Sprintf("command %d", i+1), command: c, prepare: reset, seen: seen})
	}
	steps = append(steps,
		step{name: "an allowed command", command: "sort a.txt", control: true, seen: holds("alpha")},
		step{name: "an allowed command with options", command: "git log --oneline -n 1", control: true, seen: holds("all")})
	args := []string{"--approval", "ask", "--sandbox", "full"}
	for _, p := range []string{"go build", "go test", "tar", "git clone", "git log", "git diff", "git show", "git blame", "git shortlog", "make", "sort", "sed", "awk", "find", "curl", "ls", "strings", "xargs", "env", "gcc", "tee", "npm test", "cargo build", "python3 -m pytest"} {
		if p == "tee" || p == "xargs" || p == "env" || p == "sed" || p == "awk" || p == "find" {
			continue // who allows these has allowed what they run
		}
		args = append(args, "--allow", "bash("+p+":*)")
	}
	b.play(t, limits{time: 3 * time.Minute}, steps, args...)
}

// removers run rm although it is denied.
var removers = []string{
	"rm {f}", "source /dev/stdin <<< 'rm {f}'", ". /dev/stdin <<< 'rm {f}'", ". /dev/fd/0 <<< 'rm {f}'", "source <(echo rm {f})", "source /dev/stdin <<'E'\nrm {f}\nE", "echo rm {f} | source /dev/stdin",
	"/lib64/ld-linux-x86-64.so.2 /bin/rm {f}", "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 /bin/rm {f}", "/lib64/ld-linux-x86-64.so.2 --argv0 x /usr/bin/rm {f}",
	"make -f - <<< 'all: ; rm {f}'", "make -f /dev/stdin <<< 'all: ; rm {f}'", "make --eval='all: ; rm {f}'", "printf 'all:\\n\\trm {f}\\n' | make -f -", "make -f <(printf 'all:\\n\\trm {f}\\n')", "make --file=- <<< 'all: ; rm {f}'",
	"bash <<< 'rm {f}'", "bash /dev/stdin <<< 'rm {f}'", "bash -s <<< 'rm {f}'", "sh <<'E'\nrm {f}\nE", "echo 'rm {f}' | sh", "echo 'rm {f}' | bash -", "bash <(echo rm {f})", "bash -c 'rm {f}'", "bash --rcfile /dev/fd/3 -ic : 3<<< 'rm {f}'", "BASH_ENV=/dev/stdin bash -c : <<< 'rm {f}'", "ENV=/dev/fd/3 sh -i -c : 3<<< 'rm {f}'",
	"eval rm {f}", "eval 'r''m' {f}", "command rm {f}", "builtin command rm {f}", "\\rm {f}", "r\\m {f}", "'rm' {f}", "$'\\x72m' {f}", "r\"\"m {f}", "/bin/rm {f}", "/bin/r[m] {f}", "x=rm; $x {f}", "x=r; ${x}m {f}", "$(echo rm) {f}", "`echo rm` {f}", "${x:-rm} {f}", "{rm,{f}}",
	"env rm {f}", "env -S 'rm {f}'", "nice rm {f}", "nohup rm {f}", "timeout 5 rm {f}", "setsid rm {f}", "stdbuf -o0 rm {f}", "ionice rm {f}", "taskset 1 rm {f}", "chroot / rm {f}", "unshare -r rm {f}", "exec -a x rm {f}", "(exec rm {f})", "coproc rm {f}; wait", "rm {f} & wait", "time rm {f}", "! rm {f}", "xargs rm <<< {f}", "echo {f} | xargs -n1 rm", "find {f} -exec rm {} ;", "find {f} -exec rm {} +", "flock x rm {f}", "script -qc 'rm {f}' /dev/null", "busybox rm {f}", "watch -n1 -g rm {f}", "start-stop-daemon -S -x /bin/rm -- {f}", "setpriv rm {f}", "choom -n 0 rm {f}", "chrt -o 0 rm {f}", "prlimit rm {f}", "catchsegv rm {f}", "strace rm {f}", "ltrace rm {f}", "gdb -batch -ex run --args rm {f}", "perf stat rm {f}", "runuser -u root rm {f}", "su -c 'rm {f}'", "sudo rm {f}", "doas rm {f}", "linux64 rm {f}", "setarch x86_64 rm {f}", "nsenter rm {f}", "dbus-run-session rm {f}", "systemd-run rm {f}", "at now <<< 'rm {f}'", "parallel rm ::: {f}", "entr rm {f} <<< a.txt", "git -c alias.x='!rm {f}' x", "git -c core.pager='rm {f};cat' -p log", "git bisect run rm {f}", "git -c core.fsmonitor='rm {f};' status", "git -c core.editor='rm {f};' commit --amend", "git -c diff.external='rm {f};' diff", "git submodule foreach 'rm {f}'", "git rebase -x 'rm {f}' HEAD", "git -c core.sshCommand='rm {f};' fetch ssh://x/y", "git filter-branch -f --tree-filter 'rm {f}'", "git grep -O'rm {f};' alpha", "git difftool -x 'rm {f};' -y", "GIT_PAGER='rm {f};cat' git -p log", "GIT_EXTERNAL_DIFF='rm {f};' git diff HEAD", "GIT_SSH_COMMAND='rm {f};' git fetch ssh://x/y", "GIT_EDITOR='rm {f};' git commit --amend", "EDITOR='rm {f};' git commit --amend",
	"awk 'BEGIN{system(\"rm {f}\")}'", "awk 'BEGIN{\"rm {f}\"|getline}'", "awk 'BEGIN{print|\"rm {f}\"}'", "sed '1e rm {f}' a.txt", "sed 's/.*/rm {f}/e' a.txt", "sort --compress-program='rm {f}' a.txt", "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='rm {f}' a.txt", "tar cf /dev/null -I 'rm {f};cat' a.txt", "tar xf t.tar --to-command='rm {f}'", "gcc -wrapper rm,{f} -c -x c /dev/null", "zip -q x.zip a.txt -T -TT 'rm {f};'", "man -P 'rm {f};' ls", "less '+!rm {f}' a.txt", "jq -n '@sh \"rm {f}\"' -r | sh", "gawk 'BEGIN{system(\"rm {f}\")}'", "openssl engine -t; rm {f}", "cpio -o --rsh-command='rm {f}' -O x:y <<< a.txt", "rsync -e 'rm {f};' x:y .", "scp -S 'rm {f};' x:y .", "ssh -o ProxyCommand='rm {f}' x",
	"trap 'rm {f}' EXIT; exit", "trap 'rm {f}' USR1; kill -USR1 $$", "trap 'rm {f}' DEBUG; :; trap - DEBUG", "PROMPT_COMMAND='rm {f}' bash -i -c :", "PS4='$(rm {f})'; set -x; :; set +x", "x='a[$(rm {f})]'; (( x ))", "test -v 'a[$(rm {f})]'", "[[ -v 'a[$(rm {f})]' ]]", "printf -v 'a[$(rm {f})]' x", "declare 'a[$(rm {f})]=1'", "unset 'a[$(rm {f})]'", "read 'a[$(rm {f})]' <<< 1", "wait -n -p 'a[$(rm {f})]'", "f() { rm {f}; }; f; unset -f f", "alias z='rm {f}'; shopt -s expand_aliases\nz", "compgen -C 'rm {f}' x", "mapfile -C 'rm {f};' -c 1 x < a.txt", "bind -x '\"a\":rm {f}'; rm {f}", "hash -p /bin/rm cp; cp {f}; hash -r", "enable -f /bin/x y; rm {f}", "command_not_found_handle() { rm {f}; }; nosuchprogram; unset -f command_not_found_handle", "select x in a; do rm {f}; break; done <<< 1", "case $(rm {f}) in esac", "for i in $(rm {f}); do :; done", "while rm {f}; do break; done", "if rm {f}; then :; fi", "[[ $(rm {f}) ]]", "(( $(rm {f}; echo 1) ))", "cat <<E\n$(rm {f})\nE", "cat <<< $(rm {f})", "cat <(rm {f})", "true >(rm {f})", "${x:=$(rm {f})}", "x=$(rm {f})", "x=(`rm {f}`)", "echo \"${x/a/$(rm {f})}\"",
	// Siblings of those that once came through.
	"GIT_PAGER='sh -c \"rm {f}\"' git -p log", "GIT_SEQUENCE_EDITOR='rm {f};' git rebase -i --root", "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0='rm {f};cat' git -p log", "GIT_CONFIG_PARAMETERS=\"'core.pager=rm {f};cat'\" git -p log", "printf '[core]\\npager=rm {f};cat\\n' > g.cfg; GIT_CONFIG_GLOBAL=g.cfg git -p log", "export GIT_EXTERNAL_DIFF='rm {f};'; git diff HEAD", "declare -x GIT_EXTERNAL_DIFF='rm {f};'; git diff HEAD", "env GIT_EXTERNAL_DIFF='rm {f};' git diff HEAD", "set -a; GIT_EXTERNAL_DIFF='rm {f};'; git diff HEAD", "read GIT_EXTERNAL_DIFF <<< 'rm {f};'; export GIT_EXTERNAL_DIFF; git diff HEAD", "printf -v GIT_EXTERNAL_DIFF 'rm {f};'; export GIT_EXTERNAL_DIFF; git diff HEAD", "X='rm {f};'; GIT_EXTERNAL_DIFF=$X git diff HEAD", "GIT_EXTERNAL_DIFF=$'rm {f};' git diff HEAD", "GIT_EXTERNAL_DIFF=\"r\"'m {f};' git diff HEAD", "VISUAL='rm {f};' git commit --amend", "LESSOPEN='|rm {f}' less a.txt", "MANPAGER='rm {f};' man ls", "PAGER='rm {f};' git -p log", "cat > s.sh <<'E'\nrm {f}\nE\nbash s.sh", "cat > s.sh <<'E'\nrm {f}\nE\n. ./s.sh", "printf 'r\\155 {f}' > s.sh; sh ./s.sh", "echo 'r''m {f}' | tee s.sh >/dev/null; source ./s.sh", "cd sub 2>/dev/null; echo 'x=r; ${x}m {f}' > s.sh; sh s.sh", "echo 'x=r; ${x}m {f}' > s.sh; chmod +x s.sh; ./s.sh", "n=s.sh; echo 'x=r; ${x}m {f}' > $n; bash $n", "echo 'x=r; ${x}m {f}' > s.txt; cp s.txt s.sh; bash s.sh", "echo 'x=r; ${x}m {f}' | dd of=s.sh status=none; bash s.sh", "{ echo 'x=r; ${x}m {f}'; } > s.sh; env bash s.sh", "echo 'x=r; ${x}m {f}' >> t.sh; timeout 5 sh t.sh", "echo 'x=r; ${x}m {f}' > s.sh; bash < s.sh", "echo 'x=r; ${x}m {f}' > s.sh; cat s.sh | bash", "echo 'x=r; ${x}m {f}' > s.sh; bash -x ./s.sh", "echo 'x=r; ${x}m {f}' > s.sh; bash --norc ./s.sh", "echo 'x=r; ${x}m {f}' > s.sh; BASH_ENV=s.sh bash -c :", "printf 'all:\\n\\t@x=r; $${x}m {f}\\n' > m.mk; make -s -f m.mk", "printf 'all:\\n\\t@x=r; $${x}m {f}\\n' > GNUmakefile; make -s; echo; mv GNUmakefile gone.mk", "[ -v 'a[$(rm {f})]' ]", "n='a[$(rm {f})]'; test -v \"$n\"", "n='a[$(rm {f})]'; printf -v \"$n\" x", "n='a[$(rm {f})]'; unset \"$n\"", "n='a[$(rm {f})]'; read \"$n\" <<< 1", "builtin declare 'a[$(rm {f})]=1'", "n='a[$(rm {f})]'; echo ${!n}", "n='a[$(rm {f})]'; declare -n r=n; echo $((n))", "let 'a[$(rm {f})]=1'", "n='a[$(rm {f})]'; [[ n -eq 1 ]]", "n='$(rm {f})'; echo ${n@P}", "a=(1); echo ${a['$(rm {f})']}", "readarray -C 'rm {f};' -c 1 x < a.txt", "compgen -W '$(rm {f})' x", "getopts a 'x[$(rm {f})]' -a", "set -- -a; getopts a 'x[$(rm {f})]'", "typeset 'a[$(rm {f})]=1'", "exec {x['$(rm {f})']}<a.txt", "for x in 1; do eval rm {f}; done", "split --filter='rm {f}' a.txt", "install -s --strip-program='./nope' a.txt zz; rm {f}", "env -i rm {f}", "nohup setpriv rm {f}", "setarch -R rm {f}", "x86_64 rm {f}", "runcon -t x rm {f}; setpriv rm {f}", "coreutils --coreutils-prog=rm {f}; choom -n 0 -- rm {f}", "ssh-agent rm {f}", "sg root -c 'rm {f}'", "newgrp root <<< 'rm {f}'", "su root <<< 'rm {f}'", "run-parts --exit-on-error .; i386 rm {f}", "script -c 'rm {f}' /dev/null", "unshare rm {f}", "systemd-cat rm {f}", "pipesz rm {f}", "enosys -s getpid rm {f}", "openvt rm {f}", "ip netns exec x rm {f}; linux32 rm {f}",
}

// opaque commands give a program of another language, or a file that they have just
// made, to something that runs it. No rule on the name of a command promises to see
// through that: the suite tells what comes through, and counts no hole. Rules on
// files hold these too, see TestRulesDenyEdit.
var opaque = []string{
	"run-parts --arg={f} /bin --regex '^rm$'",
	"python3 -c 'import os; os.system(\"rm {f}\")'",
	"python3 -c 'import subprocess as s; s.run([\"rm\",\"{f}\"])'",
	"python3 - <<'E'\nimport os\nos.system('rm {f}')\nE",
	"echo 'import os; os.system(\"rm {f}\")' | python3",
	"perl -e 'system(\"rm {f}\")'",
	"perl -e '`rm {f}`'",
	"perl <<< 'exec \"rm {f}\"'",
	"echo 'rm {f}' | sed e",
	"ed -s <<< '!rm {f}'",
	"ex -s -c '!rm {f}' -c q",
	"vim -es -c '!rm {f}' -c q",
	"sqlite3 <<< '.system rm {f}'",
	"sqlite3 :memory: '.shell rm {f}'",
	"node -e 'require(\"child_process\").execSync(\"rm {f}\")'",
	"cp a.txt s.sh; echo 'rm {f}' > s.sh; sh s.sh",
	"echo 'rm {f}' > s.sh; . ./s.sh",
	"echo 'rm {f}' > s.sh; chmod +x s.sh; ./s.sh",
	"ln -sf /bin/rm zap; ./zap {f}",
	"BASH_ENV=<(echo rm {f}) bash -c :",
	"m4 <<< 'syscmd(`rm {f}'\\'')'",
	"bc <<< '!rm {f}'",
}

// A program that is denied does not run, in whatever way it is started.
func TestRulesDenyProgram(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.put(t, "ws/a.txt", "alpha\n")
	b.repository(t)
	b.put(t, "ws/a.txt", "beta\n")
	if out, err := exec.Command("tar", "-C", b.ws, "-cf", filepath.Join(b.ws, "t.tar"), "a.txt").CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	deny := func(commands []string, t *testing.T, promised bool) {
		var steps []step
		for i, c := range commands {
			steps = append(steps, step{
				name: fmt.Sprintf("command %d", i+1), command: strings.ReplaceAll(c, "{f}", "victim"), unpromised: !promised,
				prepare: func() { b.put(t, "ws/victim", "x") },
				seen: func(string, string) string {
					if b.content("ws/victim") == "" {
						return "rm ran"
					}
					return ""
				},
			})
		}
		b.play(t, limits{time: 3 * time.Minute}, steps, "--approval", "full", "--deny", "bash(rm:*)")
	}
	deny(removers, t, true)
	t.Run("opaque", func(t *testing.T) { deny(opaque, t, false) })
	t.Run("generated", func(t *testing.T) {
		r := dice(3)
		var commands []string
		for range the.count {
			commands = append(commands, pick(r, shells[:14])(pick(r, removers)))
		}
		deny(commands, t, true)
	})
}
