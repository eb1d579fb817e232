//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/platform/sandbox"
)

// networkTrials are what a command may try to reach. ADDRESS says where.
func networkTrials() map[string]func() error {
	address := os.Getenv("ADDRESS")
	talk := func(network string) func() error {
		return func() error {
			c, err := net.DialTimeout(network, address, 20*time.Second)
			if err != nil {
				return err
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(20 * time.Second))
			answer, err := io.ReadAll(c)
			fmt.Printf("%s ", answer)
			return err
		}
	}
	serve := func(network string) func() error {
		return func() error {
			l, err := net.Listen(network, address)
			if err != nil {
				return err
			}
			fmt.Println(l.Addr())
			for {
				c, err := l.Accept()
				if err != nil {
					return err
				}
				_, _ = io.WriteString(c, "served")
				c.Close()
			}
		}
	}
	return map[string]func() error{
		"talk tcp":   talk("tcp"),
		"talk unix":  talk("unix"),
		"talk seq":   talk("unixpacket"),
		"serve tcp":  serve("tcp"),
		"serve unix": serve("unix"),
		"serve seq":  serve("unixpacket"),
		"resolve": func() error {
			_, err := (&net.Resolver{PreferGo: true}).LookupHost(context.Background(), "example.com")
			return err
		},
		"get": func() error {
			answer, err := http.Get(address)
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			fmt.Printf("%d %s", answer.StatusCode, body)
			return err
		},
	}
}

// serving starts a server as a command of its own and gives the address that it
// has got.
func serving(t *testing.T, s *sandbox.Sandbox, dir, name, address string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := process.Command(process.Options{
		Dir: dir, Sandbox: s.Encoded(), Env: append(os.Environ(), trial+"=serve "+name, "ADDRESS="+address),
	}, self)
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { process.Kill(cmd); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.Contains(line, "listen") {
		t.Fatalf("%s does not serve: %s %v", name, line, err)
	}
	return strings.TrimSpace(line)
}

// outsider serves in the test's own process, outside all sandboxes.
func outsider(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "outside")
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func try(t *testing.T, s *sandbox.Sandbox, dir, name, address string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, _ := confined(t, s, dir, fmt.Sprintf("exec %q", self), trial+"="+name, "ADDRESS="+address)
	return strings.TrimSpace(out)
}

func TestNetworkIsDenied(t *testing.T) {
	needLandlock(t)
	g := newGround(t)
	outside := outsider(t, "tcp4", "127.0.0.1:0")
	outside6 := outsider(t, "tcp", "[::]:0")
	_, port6, _ := net.SplitHostPort(outside6)
	for _, mode := range []sandbox.Mode{sandbox.ReadOnly, sandbox.WorkspaceWrite} {
		s := begin(t, sandbox.Policy{Mode: mode, Workspace: g.workspace})
		for _, tt := range []struct{ name, address, says string }{
			{"talk tcp", "192.0.2.1:80", "permission denied"},
			{"talk tcp", "[2001:db8::1]:80", "permission denied"},
			{"talk tcp", outside, "permission denied"},
			{"talk tcp", "127.0.0.2:" + port6, "permission denied"}, // served for all addresses
			{"talk tcp", "[::1]:" + port6, "permission denied"},
			{"talk tcp", "[::ffff:127.0.0.1]:" + port6, "permission denied"},
			{"talk tcp", "0.0.0.0:" + port6, "permission denied"},
			{"talk tcp", "127.0.0.1:1", "connection refused"},
			{"resolve", "", "lookup example.com"},
		} {
			if got := try(t, s, g.workspace, tt.name, tt.address); !strings.Contains(got, tt.says) || strings.Contains(got, "outside") {
				t.Errorf("%s: %s %s: %q, want %q", mode, tt.name, tt.address, got, tt.says)
			}
		}
	}
	open := begin(t, sandbox.Policy{Mode: sandbox.ReadOnly, Workspace: g.workspace, Network: true})
	if got := try(t, open, g.workspace, "talk tcp", outside); got != "outside" {
		t.Errorf("with the network allowed: %q", got)
	}
}

// Commands of one sandbox reach each other's servers, whoever started them. Nobody
// else reaches these, and they bind loopback alone.
func TestLoopbackAmongCommands(t *testing.T) {
	needLandlock(t)
	g := newGround(t)
	policy := sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: g.workspace}
	s := begin(t, policy)
	other := begin(t, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: g.outside})
	for _, tt := range []struct{ asked, got string }{
		{"127.0.0.1:0", "127.0.0.1"}, {"[::1]:0", "::1"}, {":0", "127.0.0.1"}, {"0.0.0.0:0", "127.0.0.1"}, {"[::]:0", "127.0.0.1"},
	} {
		address := serving(t, s, g.workspace, "tcp", tt.asked)
		host, port, err := net.SplitHostPort(address)
		if err != nil || host != tt.got {
			t.Errorf("a server that asks for %s gets %s", tt.asked, address)
		}
		if got := try(t, s, g.workspace, "talk tcp", address); got != "served" {
			t.Errorf("%s by another command: %q", address, got)
		}
		if tt.got == "127.0.0.1" {
			if got := try(t, s, g.workspace, "talk tcp", "localhost:"+port); got != "served" {
				t.Errorf("localhost:%s: %q", port, got)
			}
		}
		if got := try(t, other, g.outside, "talk tcp", address); !strings.Contains(got, "permission denied") {
			t.Errorf("%s by a command of another sandbox: %q", address, got)
		}
	}
	if got := try(t, s, g.workspace, "serve tcp", "192.0.2.1:0"); !strings.Contains(got, "permission denied") {
		t.Errorf("a server on another address: %q", got)
	}
}

func TestUnixSockets(t *testing.T) {
	pacetest.Costly(t)
	needLandlock(t)
	g := newGround(t)
	temp := folder(t)
	named := outsider(t, "unix", filepath.Join(g.outside, "named.sock"))
	foreign := outsider(t, "unix", filepath.Join(g.outside, "agent.sock"))
	inside := outsider(t, "unix", filepath.Join(g.workspace, "daemon.sock")) // writable, but not the commands' own
	abstract := outsider(t, "unix", fmt.Sprintf("@burin-test-%d", os.Getpid()))
	if err := os.Symlink(foreign, filepath.Join(g.workspace, "link.sock")); err != nil {
		t.Fatal(err)
	}
	for _, network := range []bool{false, true} {
		s := begin(t, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: g.workspace, Writable: []string{temp, named}, Network: network})
		for address, want := range map[string]string{
			named: "outside", foreign: "permission denied", inside: "permission denied", abstract: "permission denied",
			"link.sock": "permission denied", "../outside/agent.sock": "permission denied", "/proc/self/root" + foreign: "permission denied",
			"none.sock": "no such file", "mine": "connection refused",
		} {
			if got := try(t, s, g.workspace, "talk unix", address); !strings.Contains(got, want) {
				t.Errorf("network %v: %s: %q, want %q", network, address, got, want)
			}
		}
		for _, tt := range []struct{ name, address string }{
			{"unix", filepath.Join(temp, fmt.Sprint("s", network))},
			{"unix", fmt.Sprint("relative", network)},
			{"seq", filepath.Join(temp, fmt.Sprint("q", network))},
			{"unix", fmt.Sprintf("@burin-own-%d-%v", os.Getpid(), network)},
		} {
			address := serving(t, s, g.workspace, tt.name, tt.address)
			if got := try(t, s, g.workspace, "talk "+tt.name, address); got != "served" {
				t.Errorf("network %v: %s %s: %q", network, tt.name, address, got)
			}
		}
	}
	read := begin(t, sandbox.Policy{Mode: sandbox.ReadOnly, Workspace: g.workspace, Writable: []string{named}})
	if got := try(t, read, g.workspace, "talk unix", named); !strings.Contains(got, "permission denied") {
		t.Errorf("a named socket in read-only: %q", got)
	}
}

// Allowed hosts are reached through the proxy, and in no other way.
func TestHosts(t *testing.T) {
	needLandlock(t)
	g := newGround(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s", r.URL.Path)
	}))
	defer server.Close()
	where, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := begin(t, sandbox.Policy{Mode: sandbox.ReadOnly, Workspace: g.workspace, Hosts: []string{where.Host, "example.com"}})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	get := func(address string, env ...string) string {
		out, _ := confined(t, s, g.workspace, fmt.Sprintf("exec %q", self), append(env, trial+"=get", "ADDRESS="+address)...)
		return out
	}
	// This client takes no proxy for loopback, and is denied the direct way.
	if got := get(server.URL + "/x"); !strings.Contains(got, "permission denied") {
		t.Errorf("directly: %q", got)
	}
	if got := get("http://other.invalid/"); !strings.HasPrefix(got, "403 ") || !strings.Contains(got, "does not allow other.invalid:80") {
		t.Errorf("a host that is not allowed: %q", got)
	}
	if got := try(t, s, g.workspace, "talk tcp", where.Host); !strings.Contains(got, "permission denied") {
		t.Errorf("without the proxy: %q", got)
	}
	proxy := ""
	for _, v := range s.Env() {
		if after, ok := strings.CutPrefix(v, "http_proxy="); ok {
			proxy = after
		}
	}
	at, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	request := fmt.Sprintf(`exec 5<>/dev/tcp/127.0.0.1/%s; printf 'GET %s/way HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic %s\r\nConnection: close\r\n\r\n' >&5; cat <&5`,
		at.Port(), server.URL, basic(at.User))
	if out, code := confined(t, s, g.workspace, request); code != 0 || !strings.Contains(out, "hello /way") {
		t.Errorf("through the proxy: code %d\n%s", code, out)
	}
}
