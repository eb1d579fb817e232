package main

import (
	"bufio"
	"bytes"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/internal/model/credential/oauth/oauthtest"
	"github.com/burin-dev/burin/internal/platform/mcp/mcptest"
)

// login runs a login, and is the browser that visits the page it names.
func (c *configured) login(args ...string) string {
	c.t.Helper()
	cmd := command(c.t, args...)
	cmd.Dir = filepath.Join(c.dir, "work")
	cmd.Env = append(cmd.Env, "HOME="+c.dir, "BURIN_HOME="+filepath.Join(c.dir, "burin"))
	out, err := cmd.StderrPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if page := strings.TrimSpace(lines.Text()); strings.HasPrefix(page, "http") {
			resp, err := http.Get(page)
			if err != nil {
				c.t.Error(err)
				continue
			}
			resp.Body.Close()
		}
	}
	_ = cmd.Wait() // what was said is looked at
	return said.String()
}

// A server that wants a login gets one in the browser; its token is renewed once for all
// processes, asks for more when the server wants more, and is in no file.
func TestMCPLogin(t *testing.T) {
	t.Parallel()
	s := &oauthtest.Service{Inner: mcptest.HTTP(0, ""), Scope: func(body []byte) string {
		if bytes.Contains(body, []byte(`"environment"`)) {
			return "write"
		}
		return ""
	}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.URL = srv.URL + "/mcp"
	c := configure(t, "approval: full\n", calls("mcp__issues__environment", `{}`, 100), says("Done.", 100), calls("mcp__issues__environment", `{}`, 100), says("Done.", 100))
	c.put("work/.git/HEAD", "ref: refs/heads/main\n")
	var all strings.Builder
	say := func(out, want string) {
		t.Helper()
		all.WriteString(out)
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing: %s", want, out)
		}
	}
	say(c.burin("mcp", "add", "issues", s.URL), "burin mcp login issues")
	say(c.login("mcp", "login", "issues"), "logged in to issues as kim@example.com")
	say(c.burin("mcp", "test", "issues"), "issues: 7 tools")
	for _, form := range s.Forms() {
		if form.Get("resource") != s.URL {
			t.Errorf("a token request without the resource: %v", form.Get("resource"))
		}
	}

	s.Expire()
	var together sync.WaitGroup
	outs := make([]string, 3)
	for i := range outs {
		together.Go(func() { outs[i] = c.burin("mcp", "test", "issues") })
	}
	together.Wait()
	for _, out := range outs {
		say(out, "issues: 7 tools")
	}
	if n := s.Replays(); n != 0 {
		t.Errorf("a refresh token was used %d times more than once", n)
	}

	say(c.burin("-p", "call it"), "MCP server issues wants a login that allows write: burin mcp login issues\n")
	if got := c.body(1); !strings.Contains(got, "it lacks write") || !strings.Contains(got, "burin mcp login issues") {
		t.Errorf("a call that needs more: %.1000s", got)
	}
	say(c.login("mcp", "login", "issues"), "logged in")
	say(c.burin("-p", "call it"), "Done.")
	if got := c.body(3); !strings.Contains(got, "PATH=") {
		t.Errorf("after the second login: %.1000s", got)
	}
	say(c.burin("keys"), "mcp:"+s.URL)

	canaries(t, c.dir)
	before := s.Live()
	say(c.burin("mcp", "logout", "issues"), "revoked the login at issues")
	if after := s.Live(); before-after != 2 {
		t.Errorf("of %d tokens %d count after the logout", before, after)
	}
	say(c.burin("mcp", "test", "issues"), "burin mcp login issues")
	say(c.burin("mcp", "logout", "issues"), "no login at MCP server issues")
	if strings.Contains(all.String(), "canary") {
		t.Error("a token was printed")
	}
	canaries(t, c.dir)
}

// canaries looks for tokens in all files of a folder.
func canaries(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte("canary")) {
			t.Errorf("a token is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
