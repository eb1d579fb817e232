package sandbox_test

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/sandbox"
)

// What real programs print when the sandbox comes in their way, and what is said
// about it. WORK, OUT and KEYS stand for folders: the workspace, one outside, a
// hidden one.
func TestExplain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no sandbox")
	}
	dir := folder(t)
	work, out, keys := filepath.Join(dir, "work"), filepath.Join(dir, "out"), filepath.Join(dir, "keys")
	for _, f := range []string{work, out, keys} {
		write(t, filepath.Join(f, "file"), "")
	}
	paths := strings.NewReplacer("WORK", work, "OUT", out, "KEYS", keys)
	base := sandbox.Policy{Workspace: work, Secret: []string{keys}}
	box := func(mode sandbox.Mode, network bool, hosts ...string) *sandbox.Sandbox {
		p := base
		p.Mode, p.Network, p.Hosts = mode, network, hosts
		return begin(t, p)
	}
	boxes := map[string]*sandbox.Sandbox{
		"read": box(sandbox.ReadOnly, false), "write": box(sandbox.WorkspaceWrite, false),
		"open": box(sandbox.WorkspaceWrite, true), "hosts": box(sandbox.WorkspaceWrite, false, "example.com", "*.go.dev"),
	}
	const nothing = ""
	for _, tt := range []struct{ box, output, says string }{
		{"write", "touch: cannot touch 'OUT/new': Permission denied\n", "does not allow writing OUT/new: commands may write inside WORK"},
		{"write", "bash: line 1: OUT/new: Permission denied\n", "does not allow writing OUT/new"},
		{"write", "open OUT/new/deep/file: permission denied\nexit status 1\n", "does not allow writing OUT/new/deep/file"},
		{"write", "PermissionError: [Errno 13] Permission denied: 'OUT/new'\n", "does not allow writing OUT/new"},
		{"write", "Error: EACCES: permission denied, mkdir 'OUT/new'\n", "does not allow writing OUT/new"},
		{"write", "error: could not lock config file OUT/.gitconfig: Permission denied", "does not allow writing OUT/.gitconfig"},
		{"write", "chmod: changing permissions of 'OUT/file': Permission denied", "does not allow writing OUT/file"},
		{"write", "cat: KEYS/file: Permission denied", "hides KEYS because it holds secrets"},
		{"write", "touch: cannot touch 'WORK/new': Permission denied\n", nothing}, // an ordinary refusal
		{"write", "rm: cannot remove '/proc/1/fd': Permission denied", "devices, kernel settings"},
		{"write", "open /dev/pts/7: permission denied", "terminals other than the command's own"},
		{"write", "git@example.com: Permission denied (publickey).\n", nothing},
		{"write", "FAIL: want permission, got denied\n", nothing},
		{"read", "touch: cannot touch 'WORK/new': Permission denied\n", "is read-only, so nothing can be written WORK/new"},
		{"read", "bash: new: Permission denied\n", "is read-only, so nothing can be written, temporary files included"},
		{"read", "mktemp: failed to create file via template ‘/nonexistent/tmp.X’: No such file or directory\n", nothing},
		{"write", "curl: (6) Could not resolve host: example.com\n", "denies the network. Work with what is on this machine"},
		{"write", "fatal: unable to access 'https://example.com/x.git/': Could not resolve host: example.com\n", "denies the network."},
		{"write", "dial tcp: lookup modules.example.com: Temporary failure in name resolution\n", "denies the network."},
		{"write", "npm error code EAI_AGAIN\nnpm error getaddrinfo EAI_AGAIN packages.example.com\n", "denies the network."},
		{"write", "connect: Network is unreachable\n", "denies the network."},
		{"write", "dial tcp 93.184.216.34:443: connect: permission denied", "denies the network."},
		{"write", "curl: (7) Failed to connect to 127.0.0.1 port 5432 after 0 ms: Couldn't connect to server", "only servers that sandboxed commands have started"},
		{"write", "dial tcp [::1]:5432: connect: permission denied", "only servers that sandboxed commands have started"},
		{"write", "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock", "Unix sockets of the command's own"},
		{"open", "dial unix /run/x.sock: connect: permission denied", "Unix sockets of the command's own"},
		{"open", "curl: (6) Could not resolve host: nonexistent.example", nothing},
		{"hosts", "curl: (6) Could not resolve host: example.com\n", "allowed hosts (example.com, *.go.dev) are reached through the proxy"},
		{"hosts", "burin's sandbox does not allow evil.test:80: it is not among the allowed hosts", "does not allow evil.test:80. Allowed: example.com, *.go.dev."},
		{"hosts", "server answered 403 Forbidden", nothing},
		{"write", "strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted", "denies the system call family of ptrace"},
		{"write", "unshare: unshare failed: Operation not permitted", "denies the system call family of unshare"},
		{"write", `sudo: The "no new privileges" flag is set, which prevents sudo from running as root.`, "becoming another user"},
		{"write", "everything failed, and nobody knows why\n", nothing},
	} {
		got := boxes[tt.box].Explain(paths.Replace(tt.output), 1)
		if want := paths.Replace(tt.says); (want == nothing) != (got == nothing) || !strings.Contains(got, want) {
			t.Errorf("%s: %q: %q, want %q", tt.box, tt.output, got, want)
		}
		if got := boxes[tt.box].Explain(paths.Replace(tt.output), 0); got != nothing {
			t.Errorf("%s: a command that succeeded: %q", tt.output, got)
		}
	}
	long := strings.Repeat("noise\n", 100_000)
	if got := boxes["write"].Explain("curl: (6) Could not resolve host: example.com\n"+long, 1); got != nothing {
		t.Errorf("what is far from the end: %q", got)
	}
	if got := boxes["write"].Explain(long+"curl: (6) Could not resolve host: example.com\n", 1); got == nothing {
		t.Error("what is at the end of a long output is not seen")
	}
}

func FuzzExplain(f *testing.F) {
	dir := folder(f)
	s := begin(f, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: dir, Secret: []string{"/home/me/.ssh"}, Hosts: []string{"example.com"}})
	f.Add("cat: '/home/me/.ssh/\x00id': Permission denied")
	f.Add("/../..: Permission denied")
	f.Fuzz(func(t *testing.T, output string) {
		if got := s.Explain(output, 1); len(got) > 4*explainedLength {
			t.Errorf("%d bytes of explanation", len(got))
		}
	})
}

// explainedLength is more than any sentence with a path of the output has.
const explainedLength = 20_000

func BenchmarkExplain(b *testing.B) {
	s := begin(b, sandbox.Policy{Mode: sandbox.WorkspaceWrite, Workspace: folder(b)})
	output := strings.Repeat("ok  \tgithub.com/example/project/internal/package\t0.012s\n", 2000)
	b.ReportAllocs()
	for b.Loop() {
		s.Explain(output, 1)
	}
}
