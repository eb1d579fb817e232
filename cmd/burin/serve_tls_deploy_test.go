package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/burin-dev/burin/internal/pacetest"
)

// systemd accepts the units, but for where burin is, and that for the whole machine shuts most out.
func TestServiceUnits(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd is not installed")
	}
	for name, scope := range map[string]string{"burin.service": "--user", "burin-system.service": "--system"} {
		data, err := os.ReadFile("../../deploy/" + name)
		if err != nil {
			t.Fatal(err)
		}
		unit := filepath.Join(t.TempDir(), name)
		writeFile(t, unit, []byte(strings.ReplaceAll(string(data), "=burin serve", "=/bin/true serve")), 0o600)
		c := exec.Command(analyze, "verify", scope, unit)
		c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		if out, err := c.CombinedOutput(); err != nil || strings.Contains(string(out), unit) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if scope == "--user" {
			continue
		}
		if out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=45", unit).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// The container file builds this program, and its image has what the program needs and no rights.
// There is no container runtime here, so its commands are looked at one by one.
func TestContainerFile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../deploy/Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	_, image, ok := strings.Cut(text, "FROM scratch\n")
	if !ok {
		t.Fatal("it has no image of its own")
	}
	for _, want := range []string{"USER 65532:65532\n", "VOLUME /data\n", "ENV HOME=/data BURIN_HOME=/data", `CMD ["/burin", "admin", "health"]`, "STOPSIGNAL SIGTERM", "/etc/ssl/certs/ca-certificates.crt"} {
		if !strings.Contains(image, want) {
			t.Errorf("the image has no %q", want)
		}
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))
	if !strings.Contains(text, "golang:"+version[1]+" ") {
		t.Errorf("go.mod wants go %s", version[1])
	}
	for _, m := range regexp.MustCompile(`(?m)^COPY (\S+ ?\S*) \./$`).FindAllStringSubmatch(text, -1) {
		for f := range strings.FieldsSeq(m[1]) {
			if _, err := os.Stat(filepath.Join("..", "..", f)); err != nil {
				t.Error(err)
			}
		}
	}
	build := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0 go build .*) -o /out/burin (\S+)$`).FindStringSubmatch(text)
	if build == nil {
		t.Fatal("it builds nothing")
	}
	if !pacetest.Long(false, true, true) {
		return // a build takes a minute
	}
	root := t.TempDir()
	c := exec.Command("sh", "-c", build[1]+" -o "+filepath.Join(root, "burin")+" "+build[2])
	c.Dir = "../.."
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if os.Getuid() != 0 {
		return // what follows needs root
	}
	for _, dir := range []string{"data", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(root, dir), 65532, 65532); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	inside := func(args ...string) *exec.Cmd {
		c := exec.Command("chroot", append([]string{"--userspec=65532:65532", root, "/burin"}, args...)...)
		c.Env = []string{"HOME=/data", "BURIN_HOME=/data", "BURIN_NO_KEYRING=1"}
		return c
	}
	server := inside("serve", "--log", "--addr", "127.0.0.1:0")
	said, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = server.Process.Kill(), server.Wait() }() // it is killed
	if _, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if out, err := inside("admin", "health").CombinedOutput(); err != nil || string(out) != "ok\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// The compose file is YAML with what its comments promise, its flags are burin's, and its settings hold.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../deploy/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Build     struct{ Context, Dockerfile string }
			Command   []string
			ReadOnly  bool     `yaml:"read_only"`
			CapDrop   []string `yaml:"cap_drop"`
			Security  []string `yaml:"security_opt"`
			Volumes   []string
			DependsOn map[string]struct{ Condition string } `yaml:"depends_on"`
		}
		Configs map[string]struct{ Content string }
		Volumes map[string]any
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	b := file.Services["burin"]
	if _, err := os.Stat(filepath.Join("../../deploy", b.Build.Context, b.Build.Dockerfile)); err != nil {
		t.Error(err)
	}
	if !b.ReadOnly || !slices.Equal(b.CapDrop, []string{"ALL"}) || !slices.Contains(b.Security, "no-new-privileges:true") || b.DependsOn["database"].Condition != "service_healthy" {
		t.Errorf("the service is %+v", b)
	}
	for _, s := range file.Services {
		for _, v := range s.Volumes {
			if name, _, _ := strings.Cut(v, ":"); !slices.Contains([]string{"data", "database"}, name) {
				t.Errorf("the volume %s is not there", v)
			}
		}
	}
	settings := filepath.Join(t.TempDir(), "burin.yml")
	writeFile(t, settings, []byte(file.Configs["settings"].Content), 0o600)
	c := again(machine(t, newBrain(t), rpcConfig))
	c.Args = append(c.Args, "serve", "--check", "--addr", "127.0.0.1:0", "--acme-http", "")
	for _, arg := range b.Command[1:] {
		c.Args = append(c.Args, strings.NewReplacer("/etc/burin.yml", settings, "${BURIN_NAME:?set it in .env}", "burin.example.org").Replace(arg))
	}
	// It gets as far as the database, which is not there.
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "database") || strings.Contains(string(out), "flag") {
		t.Errorf("%v: %s", err, out)
	}
}

// burin admin health finds the server of this machine, by any way it listens, and says why one can't work.
func TestAdminHealth(t *testing.T) {
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	health := func(args ...string) (string, bool) {
		c := again(cmd)
		c.Args = append(append(c.Args, "admin", "health"), args...)
		out, err := c.CombinedOutput()
		return string(out), err == nil
	}
	s := again(cmd)
	s.Args = append(s.Args, "serve", "--lan", "--addr", ":0")
	said, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = s.Process.Kill(), s.Wait() }() // it is killed
	at, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if out, ok := health(); !ok || out != "ok\n" {
		t.Errorf("the server that runs: %s", out)
	}
	named := strings.Replace(strings.TrimSpace(at), "127.0.0.1", "localhost", 1)
	if out, ok := health(named); !ok || out != "ok\n" {
		t.Errorf("%s: %s", named, out)
	}
	sick := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"detail":"the server can't work now"}`)
	}))
	defer sick.Close()
	for address, want := range map[string]string{
		sick.URL: "the server can't work now", "http://127.0.0.1:1": "connection refused", "here": "is not the address of a server", "ftp://x": "is not the address of a server",
	} {
		if out, ok := health(address); ok || !strings.Contains(out, want) || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: %v %s", address, ok, out)
		}
	}
}

// Without TLS, a server for a proxy hears this machine and the proxy, and hangs up on others. With
// addresses that others reach it always asks for a token.
func TestServeForProxy(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	c := again(cmd)
	c.Args = append(c.Args, "serve", "--check", "--addr", "0.0.0.0:0")
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "in the clear") {
		t.Errorf("without a proxy: %v %s", err, out)
	}
	s := serveIt(t, cmd, "--addr", "0.0.0.0:0", "--proxy", "10.0.0.0/8")
	r := s.request("GET", "/v1/sessions", "")
	r.Header.Del("Authorization")
	if status, _ := s.do(r); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d", status)
	}
	s.end()
	for from, ok := range map[string]bool{"10.1.2.3:9": true, "127.0.0.1:9": true, "[::1]:9": true, "[::ffff:10.1.2.3]:9": true, "192.168.1.2:9": false, "203.0.113.7:9": false} {
		one := &fakeListener{conns: []net.Conn{fakeConn{from: from}}}
		_, err := proxiesOnly{one, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}.Accept()
		if (err == nil) != ok {
			t.Errorf("from %s: %v", from, err)
		}
	}
}

// fakeListener gives connections from addresses that this machine doesn't have.
type fakeListener struct {
	net.Listener
	conns []net.Conn
}

func (l *fakeListener) Accept() (net.Conn, error) {
	if len(l.conns) == 0 {
		return nil, net.ErrClosed
	}
	c := l.conns[0]
	l.conns = l.conns[1:]
	return c, nil
}

type fakeConn struct {
	net.Conn
	from string
}

func (c fakeConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.from))
}
func (c fakeConn) Close() error { return nil }
