package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/mcp/mcptest"
	"github.com/burin-dev/burin/internal/platform/sandbox"
)

// A server whose entry wants a sandbox can do what that says and no more, and works as before. Without one, all of it works.
func TestMCPSandbox(t *testing.T) {
	t.Parallel()
	if can := sandbox.Available(); !can.Files || !can.Network {
		t.Skip("this machine confines nothing: " + can.Missing)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	// It leaves behind what it could do, and then is a server.
	script := `cat "$BOX/burin/config.yml" >read; echo x >"$BOX/outside"; echo x >"$BOX/more/file"; echo x >.git/hooks/pre-commit; echo x >inside; (exec 3<>/dev/tcp/127.0.0.1/` + port + `) && echo x >net; cp read "$BOX/more/read"; exec "$0" "$@"`
	for _, tt := range []struct {
		name, box string
		can       string
	}{
		{"none", `null`, "read outside more hook inside net"},
		{"word", `"workspace-write"`, "inside"},
		{"more", `{"mode":"workspace-write","writable":["BOX/more"],"network":true}`, "more inside net"},
		{"looks", `"read-only"`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := configure(t, "", calls("mcp__test__echo", `{"text":"herons"}`, 100), says("Done.", 100))
			// The temporary folder is where servers may write: all that they may not lies elsewhere.
			c.put("work/.git/HEAD", "ref: refs/heads/main\n")
			c.put("work/.git/hooks/README", "none\n")
			c.put("more/README", "none\n")
			home := c.dir
			temp := filepath.Join(home, "temp")
			if err := os.Mkdir(temp, 0o700); err != nil {
				t.Fatal(err)
			}
			entry, err := json.Marshal(map[string]any{
				"command": "bash", "args": []string{"-c", script, os.Args[0], mcptest.Marker, "0"}, "env": map[string]string{"BOX": home, "TMPDIR": temp}, "sandbox": json.RawMessage(strings.ReplaceAll(tt.box, "BOX", home)),
			})
			if err != nil {
				t.Fatal(err)
			}
			c.put("burin/mcp.json", fmt.Sprintf(`{"mcpServers":{"test":%s}}`, entry))
			c.put("burin/config.yml", "modelRoles: {default: box/m}\napproval: full\n")
			out := c.burin("mcp", "test", "test") + c.burin("-p", "call it")
			if got := c.body(1); !strings.Contains(got, "echo: herons") {
				t.Errorf("the server does not work:\n%s\n%s", out, got)
			}
			var could []string
			for _, f := range [][2]string{{"read", "work/read"}, {"outside", "outside"}, {"more", "more/file"}, {"hook", "work/.git/hooks/pre-commit"}, {"inside", "work/inside"}, {"net", "work/net"}} {
				if info, err := os.Stat(filepath.Join(home, filepath.FromSlash(f[1]))); err == nil && info.Size() > 0 {
					could = append(could, f[0])
				}
			}
			if got := strings.Join(could, " "); got != tt.can {
				t.Errorf("it could: %q, want %q\n%s", got, tt.can, out)
			}
		})
	}
}
