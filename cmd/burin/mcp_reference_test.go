package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
)

// The reference servers work over each transport that they offer: their tools are listed and called.
func TestMCPReferenceServers(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	packages := filepath.Join(npmFolder(t), "node_modules", "@modelcontextprotocol")
	script := func(name string) string {
		path := filepath.Join(packages, "server-"+name, "dist", "index.js")
		if _, err := os.Stat(path); err != nil {
			t.Skipf("the reference servers are not in BURIN_NPM: %v", err)
		}
		return path
	}
	echo := [3]string{"echo", `{"message":"herons"}`, "Echo: herons"}
	for _, tt := range []struct {
		server, kind string // stdio, http, sse
		call         [3]string
	}{
		{"everything", "stdio", echo},
		{"everything", "http", echo},
		{"everything", "sse", echo},
		{"filesystem", "stdio", [3]string{"read_text_file", `{"path":"a.txt"}`, "a heron"}},
		{"memory", "stdio", [3]string{"create_entities", `{"entities":[{"name":"heron","entityType":"bird","observations":["gray"]}]}`, "heron"}},
		{"sequential-thinking", "stdio", [3]string{"sequentialthinking", `{"thought":"a","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, "thoughtHistoryLength"}},
	} {
		t.Run(tt.server+" "+tt.kind, func(t *testing.T) {
			t.Parallel()
			c := configure(t, "approval: full\n", calls("mcp__it__"+tt.call[0], tt.call[1], 100), says("Done.", 100))
			c.put("work/.git/HEAD", "ref: refs/heads/main\n")
			c.put("work/a.txt", "a heron\n")
			work := filepath.Join(c.dir, "work")
			add := []string{"mcp", "add", "it", "--env", "MEMORY_FILE_PATH=" + filepath.Join(c.dir, "memory.jsonl"), "--", "node", script(tt.server), "stdio"}
			if tt.server == "filesystem" {
				add[len(add)-1] = work
			}
			if tt.kind != "stdio" {
				port := freePort(t)
				cmd := exec.Command("node", script(tt.server), map[string]string{"http": "streamableHttp", "sse": "sse"}[tt.kind])
				cmd.Env, cmd.Dir = append(os.Environ(), fmt.Sprintf("PORT=%d", port)), c.dir
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
				waitForPort(t, port)
				path := map[string]string{"http": "mcp", "sse": "sse"}[tt.kind]
				add = []string{"mcp", "add", "it", fmt.Sprintf("http://127.0.0.1:%d/%s", port, path), "--type", tt.kind}
			}
			if out := c.burin(add...); !strings.Contains(out, "  "+tt.call[0]+" ") {
				t.Fatalf("%s", out)
			}
			out := c.burin("-p", "call it")
			if got := c.body(1); !strings.Contains(got, tt.call[2]) {
				t.Errorf("%s\n%.4000s", out, got)
			}
		})
	}
}

// freePort is a port that nobody listens at just now.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// waitForPort waits until somebody listens.
func waitForPort(t *testing.T, port int) {
	t.Helper()
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for range 1500 {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			c.Close()
			return
		}
		<-ticks.C
	}
	t.Fatal("the server does not listen")
}
