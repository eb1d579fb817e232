package checkup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/platform/filelock"
	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/llm/wire"
)

// lowDisk is the free space below which sessions may soon not be written any more.
const lowDisk = 200 << 20

// Folder looks whether burin's folder can be written, and at the room on its disk. A
// folder that does not exist yet is made with the first thing that is stored.
func Folder(dir string) Check {
	return Check{Name: "disk", Late: "the disk of " + dir + " does not answer: check its mount", Run: func(context.Context) []Result {
		there := dir
		for {
			if _, err := os.Stat(there); err == nil {
				break
			} else if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(there) == there {
				return one(Problem, err.Error(), "make the folder readable, or set BURIN_HOME to another one")
			}
			there = filepath.Dir(there)
		}
		f, err := os.CreateTemp(there, ".burin-doctor-*")
		if err != nil {
			return one(Problem, there+" can't be written", "make it writable, or set BURIN_HOME to another folder")
		}
		_ = f.Close()
		_ = os.Remove(f.Name())
		out := one(OK, dir+" can be written", "")
		if free, err := free(there); err == nil && free < lowDisk {
			out = one(Warning, fmt.Sprintf("only %s free in %s", size(free), there), "make room: conversations can't be kept on a full disk")
		} else if err == nil {
			out[0].Text += ", " + size(free) + " free"
		}
		if info, err := os.Stat(dir); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			out = append(out, Result{State: Warning, Text: "others can look into " + dir, Do: "run chmod 700 " + dir})
		}
		return out
	}}
}

// size is a number of bytes for people.
func size(n uint64) string {
	if n < 10<<30 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d GB", n>>30)
}

// Locks looks whether the file system of burin's folder has locks, which keep two processes
// from writing one session.
func Locks(dir string) Check {
	return Check{Name: "locks", Late: "the file system of " + dir + " does not answer lock requests: keep burin's folder on a local disk (BURIN_HOME)", Run: func(context.Context) []Result {
		if _, err := os.Stat(dir); err != nil {
			return one(OK, "nothing to lock yet", "")
		}
		f, err := os.CreateTemp(dir, ".burin-doctor-*")
		if err != nil {
			return one(Note, "not checked: the folder can't be written", "")
		}
		defer os.Remove(f.Name()) //nolint:errcheck // at worst an empty file stays
		defer filelock.Close(f)   //nolint:errcheck // the same
		if ok, err := filelock.Try(f); err != nil || !ok {
			return one(Problem, "the file system of "+dir+" has no locks", "keep burin's folder on a local disk: set BURIN_HOME")
		}
		return one(OK, "files can be locked", "")
	}}
}

// Git looks whether there is a git that burin can use.
func Git() Check {
	return Check{Name: "git", Run: func(ctx context.Context) []Result {
		cmd, err := installed.Command(ctx, nil, "git", "--version")
		if err != nil {
			return one(Warning, "git not found", "install git: without it burin knows nothing of branches and changes")
		}
		cmd.WaitDelay = time.Second
		out, err := cmd.Output()
		if err != nil {
			return one(Warning, "git --version failed", "run it yourself and see what it says")
		}
		return one(OK, strings.TrimSpace(string(out)), "")
	}}
}

// Sandbox looks what the system can enforce.
func Sandbox() Check {
	return Check{Name: "sandbox", Run: func(context.Context) []Result {
		s := sandbox.Available()
		switch {
		case !s.Files && !s.Network:
			return one(Warning, cmp.Or(s.Missing, "commands are not confined on this system"), "approval and rules still hold; see burin help approval")
		case s.Missing != "":
			return one(Warning, s.How+": "+s.Missing, "")
		}
		return one(OK, s.How, "")
	}}
}

// Proxy looks whether the proxies and certificates of the environment can be used.
func Proxy(getenv func(string) string) Check {
	return Check{Name: "proxy", Run: func(ctx context.Context) []Result {
		o := wire.OptionsFromEnv(getenv)
		if _, err := wire.NewClient(o); err != nil {
			return one(Problem, err.Error(), "correct the variable, or unset it")
		}
		var out []Result
		seen := map[string]bool{}
		for _, p := range []struct{ variable, address string }{{"HTTPS_PROXY", o.HTTPSProxy}, {"HTTP_PROXY", o.HTTPProxy}} {
			if p.address == "" || seen[p.address] {
				continue
			}
			seen[p.address] = true
			host, err := proxyHost(p.address)
			if err != nil {
				out = append(out, Result{State: Problem, Text: p.variable + " is not the address of a proxy", Do: "write it as http://HOST:PORT"})
				continue
			}
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
			if err != nil {
				out = append(out, Result{State: Problem, Text: "the proxy " + host + " can't be reached", Do: "check " + p.variable + ", or unset it"})
				continue
			}
			_ = conn.Close()
			out = append(out, Result{State: OK, Text: "the proxy " + host + " answers"})
		}
		if out == nil {
			return one(OK, "none", "")
		}
		return out
	}}
}

// proxyHost is host and port of a proxy, without user and password.
func proxyHost(address string) (string, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return "", errors.New("no host")
	}
	port := cmp.Or(u.Port(), map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme], "80")
	return net.JoinHostPort(u.Hostname(), port), nil
}

// maxSkew is how wrong a clock may be before logins and signatures begin to fail.
const maxSkew = 2 * time.Minute

// Clock compares the clock with the date that a server tells; without an address, with the
// date of the program: a clock before that is wrong.
func Clock(getenv func(string) string, server string, now func() time.Time) Check {
	return Check{Name: "clock", Limit: onlineTime, Late: "the server of the model does not answer: check the network", Run: func(ctx context.Context) []Result {
		if server == "" {
			if self, err := os.Executable(); err == nil {
				if info, err := os.Stat(self); err == nil && now().Before(info.ModTime().Add(-24*time.Hour)) {
					return one(Problem, "the clock is before the day burin was installed: "+now().Format(time.DateTime), "set the clock")
				}
			}
			return one(OK, now().Format(time.DateTime)+"; burin doctor --online compares it", "")
		}
		client, err := wire.NewClient(wire.OptionsFromEnv(getenv))
		if err != nil {
			return one(Note, "not compared: see proxy", "")
		}
		defer client.CloseIdleConnections()
		u, err := url.Parse(server)
		if err != nil {
			return one(Note, "not compared: the address of the server is not known", "")
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodHead, u.Scheme+"://"+u.Host+"/", nil)
		if err != nil {
			return one(Note, "not compared: the address of the server is not known", "")
		}
		resp, err := client.Do(req)
		if err != nil {
			return one(Warning, u.Hostname()+" can't be reached", "check the network, and HTTPS_PROXY if you need a proxy")
		}
		_ = resp.Body.Close()
		date, err := http.ParseTime(resp.Header.Get("Date"))
		if err != nil {
			return one(Note, "not compared: "+u.Hostname()+" does not tell its date", "")
		}
		skew := now().Sub(date)
		if skew.Abs() > maxSkew {
			return one(Problem, fmt.Sprintf("the clock is %s off %s", skew.Abs().Round(time.Second), u.Hostname()), "set the clock: logins and signed requests fail")
		}
		return one(OK, "agrees with "+u.Hostname(), "")
	}}
}
