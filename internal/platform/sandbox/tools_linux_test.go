//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/internal/platform/wall"
)

// Work that people do all day does not notice the sandbox.
func TestToolsWork(t *testing.T) {
	pacetest.Costly(t)
	withWalls(t, testToolsWork)
}

func testToolsWork(t *testing.T, walls []wall.Wall) {
	temp := folder(t)
	cache := filepath.Join(temp, "go-build")
	if known, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
		cache = strings.TrimSpace(string(known)) // filled: a new one costs a minute
	}
	for _, tt := range []struct{ tool, script, says string }{
		{"go", `
			printf 'module x\n\ngo 1.26\n' > go.mod
			printf 'package main\n\nfunc main() { println("built") }\n' > main.go
			go build -o prog . && ./prog && go vet .`, "built"},
		{"git", `
			git init -q . && git config user.email a@example.com && git config user.name a && echo x > f && git add f && git commit -qm one &&
			git checkout -qb side && echo y > f && git commit -qam two && git checkout -q - && git merge -q side && git status --short && git log --format=%s && git clone -q . copy && git gc -q`, "two\none"},
		{"python3", `python3 - <<'X'
import asyncio, multiprocessing, sqlite3, subprocess, tempfile, os
with multiprocessing.Pool(2) as p: assert p.map(abs, [-1, -2]) == [1, 2]
with tempfile.NamedTemporaryFile() as f: f.write(b'x'); os.chmod(f.name, 0o600); os.utime(f.name)
db = sqlite3.connect('x.db'); db.execute('create table t(a)'); db.commit()
async def main():
    async def serve(r, w): w.write(b'served'); w.close()
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    r, w = await asyncio.open_connection('127.0.0.1', server.sockets[0].getsockname()[1])
    print((await r.read()).decode()); w.close()
    server = await asyncio.start_unix_server(serve, 'x.sock')
    r, w = await asyncio.open_unix_connection('x.sock')
    print((await r.read()).decode(), subprocess.run(['sh', '-c', 'echo sub'], capture_output=True).stdout.decode()); w.close()
asyncio.run(main())
X`, "served\nserved sub"},
		{"node", `node -e '
			const s = require("http").createServer((q, r) => r.end("served")).listen(0, () =>
				require("http").get({port: s.address().port, host: "127.0.0.1"}, r => r.on("data", d => { console.log("" + d); s.close(); s.closeAllConnections() })))'`, "served"},
		{"make", `printf 'all: a b\n\t@echo made\na b:\n\t@touch $@\n' > Makefile; make -s -j2`, "made"},
		{"tar", `mkdir d; echo x > d/f; chmod 640 d/f; touch -d 2001-01-01 d/f; tar czf d.tgz d; rm -r d; tar xzf d.tgz; stat -c '%a %Y' d/f`, "640 978307200"},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			if _, err := exec.LookPath(tt.tool); err != nil {
				t.Skip("not here")
			}
			g := newGround(t)
			s := begin(t, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: g.workspace, Walls: walls, Writable: []string{temp, cache}})
			out, code := confined(t, s, g.workspace, tt.script, "TMPDIR="+temp, "GOTMPDIR="+temp, "GOCACHE="+cache, "GOFLAGS=-mod=mod")
			if code != 0 || !strings.Contains(out, tt.says) {
				t.Errorf("code %d\n%s", code, out)
			}
		})
	}
}

// The supervisor answers many at a time, and a command that is killed while it
// asks leaves nothing behind.
func TestManyCalls(t *testing.T) {
	pacetest.Costly(t)
	withWalls(t, testManyCalls)
}

func testManyCalls(t *testing.T, walls []wall.Wall) {
	g := newGround(t)
	s := begin(t, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: g.workspace, Walls: walls})
	const script = `for i in 1 2 3 4; do (for j in 1 2 3 4 5 6 7 8; do echo x > f$i$j; done; for k in 1 2 3 4 5; do chmod 6$((k-1))4 f$i?; touch -d @$k f$i?; done) & done; wait; stat -c '%a %Y' f?? | sort | uniq -c`
	if out, code := confined(t, s, g.workspace, script); code != 0 || strings.TrimSpace(out) != "32 644 5" {
		t.Errorf("code %d\n%s", code, out)
	}
	cmd, err := process.Command(process.Options{Dir: g.workspace, Sandbox: s.Encoded()}, "sh", "-c", "while :; do chmod 600 mine; chmod 700 mine; done")
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(g.workspace, "mine")
	deadline := time.Now().Add(time.Minute)
	for info, err := os.Stat(mine); err == nil && info.Mode() != 0o700; info, err = os.Stat(mine) {
		if time.Now().After(deadline) {
			t.Fatal("no call is answered")
		}
	}
	process.Kill(cmd)
	if err := cmd.Wait(); err == nil {
		t.Error("a killed command ended well")
	}
}

// What a call that the guard carries out costs the command.
func BenchmarkSupervised(b *testing.B) {
	needLandlock(b)
	g := newGround(b)
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for _, box := range []struct {
		name string
		sandbox.Policy
	}{
		{"none", sandbox.Policy{Mode: sandbox.Full}},
		{"sandbox", sandbox.Policy{Mode: sandbox.WorkspaceWrite}},
		{"write walls", sandbox.Policy{Mode: sandbox.WorkspaceWrite, Walls: []wall.Wall{{Glob: "vendor/**", Write: true}}}},
		{"read walls", sandbox.Policy{Mode: sandbox.WorkspaceWrite, Walls: everything}},
	} {
		for _, call := range []string{"chmod", "connect", "create", "open"} {
			b.Run(box.name+"/"+call, func(b *testing.B) {
				box.Workspace = g.workspace
				s := begin(b, box.Policy)
				out, code := confined(b, s, g.workspace, fmt.Sprintf("exec %q", self), trial+"=repeat "+call, fmt.Sprintf("TIMES=%d", b.N))
				var each float64
				if _, err := fmt.Sscan(out, &each); err != nil || code != 0 {
					b.Fatalf("code %d: %s", code, out)
				}
				b.ReportMetric(each, "ns/call") // without the start of the command
			})
		}
	}
}
