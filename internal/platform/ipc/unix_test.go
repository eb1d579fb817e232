//go:build unix

package ipc_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/ipc"
)

const nobody = 65534

func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
}

// What another user may have prepared is refused in one line, and never put right.
func TestUnsafeFolders(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(t *testing.T, data string) // data/run is where sockets go
		want    string
	}{
		{"a link", func(t *testing.T, data string) {
			do(t, os.Mkdir(filepath.Join(data, "real"), 0o700), os.Symlink("real", filepath.Join(data, "run")))
		}, "symbolic link"},
		{"a link to nothing", func(t *testing.T, data string) {
			do(t, os.Symlink("nothing", filepath.Join(data, "run")))
		}, "symbolic link"},
		{"world-writable", func(t *testing.T, data string) {
			do(t, os.Mkdir(filepath.Join(data, "run"), 0o700), os.Chmod(filepath.Join(data, "run"), 0o777))
		}, "mode is 0777"},
		{"world-readable", func(t *testing.T, data string) {
			do(t, os.Mkdir(filepath.Join(data, "run"), 0o700), os.Chmod(filepath.Join(data, "run"), 0o755))
		}, "mode is 0755"},
		{"of another user", func(t *testing.T, data string) {
			asRoot(t)
			do(t, os.Mkdir(filepath.Join(data, "run"), 0o700), os.Chown(filepath.Join(data, "run"), nobody, nobody))
		}, "another user (65534)"},
		{"a file", func(t *testing.T, data string) {
			do(t, os.WriteFile(filepath.Join(data, "run"), nil, 0o700))
		}, "not a folder"},
		{"in a folder that anybody may change", func(t *testing.T, data string) {
			do(t, os.Chmod(data, 0o777))
		}, "anybody can write"},
		{"in a folder of another user", func(t *testing.T, data string) {
			asRoot(t)
			do(t, os.Chown(data, nobody, nobody))
		}, "another user (65534)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := folder(t)
			tt.prepare(t, data)
			// A runtime directory that can't be the user's is passed over, so that data counts.
			_, err := ipc.Address("x", data, runtimeDir(data+"/none"))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("want %q, got: %v", tt.want, err)
			}
		})
	}
}

func do(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// reaches checks that who listens at an address is reached there.
func reaches(t *testing.T, address string) {
	t.Helper()
	l, err := ipc.Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			err = c.Close()
		}
		accepted <- err
	}()
	c, err := ipc.Dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := <-accepted; err != nil {
		t.Error(err)
	}
}

func TestAddress(t *testing.T) {
	dir, data := folder(t), folder(t)
	linked := filepath.Join(data, "link")
	do(t, os.Symlink(dir, linked))
	open := filepath.Join(data, "open")
	do(t, os.Mkdir(open, 0o700), os.Chmod(open, 0o755))
	for _, tt := range []struct{ name, runtime, want string }{
		{"runtime directory", dir, dir + "/burin"},
		{"a link", linked, data + "/run"},
		{"that others can list", open, data + "/run"},
		{"that is not there", dir + "/none", data + "/run"},
		{"relative", "run", data + "/run"},
	} {
		a, err := ipc.Address("/a/session", data, runtimeDir(tt.runtime))
		if err != nil || filepath.Dir(a) != tt.want || len(filepath.Base(a)) != 20 {
			t.Errorf("%s: %s, %v, want a name in %s", tt.name, a, err, tt.want)
		}
		again, err := ipc.Address("/a/session", data, runtimeDir(tt.runtime))
		other, err2 := ipc.Address("/another", data, runtimeDir(tt.runtime))
		if err != nil || err2 != nil || again != a || other == a {
			t.Errorf("%s: %s, again %s, another %s, %v, %v", tt.name, a, again, other, err, err2)
		}
	}
	// Any identity fits; a folder that doesn't is an error before anything is made.
	if _, err := ipc.Address(strings.Repeat("x", 10_000), data, runtimeDir(dir)); err != nil {
		t.Error(err)
	}
	long := filepath.Join(data, strings.Repeat("x", 80))
	if address, err := ipc.Address("x", long, runtimeDir(dir+"/none")); runtime.GOOS == "linux" {
		if err != nil {
			t.Fatal(err)
		}
		reaches(t, address)
	} else {
		if err == nil || !strings.Contains(err.Error(), "too long: set XDG_RUNTIME_DIR") {
			t.Errorf("a long folder: %v", err)
		}
		if _, err := os.Stat(long); err == nil {
			t.Error("the long folder was made")
		}
	}
	if _, err := ipc.Address("x", "relative", runtimeDir("relative")); err == nil {
		t.Error("a relative folder is taken")
	}
	// The longest that is taken works.
	fits := filepath.Join(data, strings.Repeat("x", 103-len(data)-len("//run/")-20-len(".new")))
	if a, err := ipc.Address("x", fits, runtimeDir(dir+"/none")); err != nil {
		t.Error(err)
	} else {
		listen(t, a)
	}
}

func TestSocketMode(t *testing.T) {
	a := newAddress(t)
	listen(t, a)
	info, err := os.Lstat(a)
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(a)); err != nil || len(entries) != 1 {
		t.Errorf("more than the socket is there: %v, %v", entries, err)
	}
}

// A socket that a killed process left is replaced; anything else is not touched.
func TestLeftovers(t *testing.T) {
	a := newAddress(t)
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: a, Net: "unix"})
	do(t, err)
	stale.SetUnlinkOnClose(false)
	stale.Close()
	if _, err := ipc.Dial(t.Context(), a); !errors.Is(err, ipc.ErrAbsent) {
		t.Errorf("a socket of a process that has ended: %v", err)
	}
	do(t, os.WriteFile(a+".new", nil, 0o600)) // killed while it began to listen
	first := listen(t, a)
	second := listen(t, a) // the first lost its lock
	do(t, first.Close())
	c, err := ipc.Dial(t.Context(), a)
	if err != nil {
		t.Fatalf("the end of the first removed the second: %v", err)
	}
	c.Close()
	do(t, second.Close())
	if _, err := os.Lstat(a); err == nil {
		t.Error("the socket stays")
	}
	do(t, os.WriteFile(a, []byte("precious"), 0o600))
	if _, err := ipc.Listen(a); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("a file in the way: %v", err)
	}
	if _, err := ipc.Dial(t.Context(), a); err == nil || errors.Is(err, ipc.ErrAbsent) {
		t.Errorf("a file in the way: %v", err)
	}
	if text, err := os.ReadFile(a); err != nil || string(text) != "precious" {
		t.Errorf("the file is %q, %v", text, err)
	}
	do(t, os.Remove(a), os.Symlink("/dev/null", a))
	if _, err := ipc.Listen(a); err == nil {
		t.Error("a link was replaced")
	}
}
