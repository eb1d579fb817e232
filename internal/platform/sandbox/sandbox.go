// Package sandbox confines commands: which files they may read and write, which
// hosts they reach.
//
// A [Policy] is put to work by [Start]. What a command needs of it is passed on by
// package process: [Sandbox.Encoded] goes to the guard, which calls [Apply] before
// it starts the command, and [Sandbox.Env] into the command's environment. When a
// command fails, [Sandbox.Explain] says whether the sandbox may be the reason.
//
// [Alone] is for a program that burin asks for facts, such as git: it needs no guard,
// and the program can execute nothing.
//
// # What is enforced on Linux
//
// No root, no namespaces, no helper program: Landlock decides about files,
// seccomp about system calls, and a few calls that neither can judge are carried
// out by the guard in the command's place (connecting, binding, changing modes,
// owners and times), after it has looked at a copy of their arguments that the
// command cannot change any more.
//
//   - Reading: everything but [Policy.Secret] (and of that [Policy.Readable]), devices and the memory,
//     environment and files of processes outside. Names in a secret folder can be
//     listed, contents cannot be read. What is hidden is worked out when a command
//     starts, by allowing all that stands beside it: in a folder that holds a
//     secret, or leads to one, a file that is made while a command runs can be
//     read by the next command only.
//   - Writing: the workspace and the writable folders, as wholes. Landlock cannot
//     except a part; [Policy.Walls] does. Read-only allows /dev/null and its like.
//   - Walls: the guard opens files, and makes, renames and removes them, in the
//     command's place. A wall against reading makes it open every file, one against
//     writing only those that are opened to be written. A secret in a writable folder
//     gets such a wall. Programs that are not below the guard, such as a container
//     daemon that a command asks, are not held by walls.
//   - Network: TCP on loopback between commands of the same sandbox works, so that
//     a test may start a server; a server that wants all addresses gets loopback
//     alone. Nothing else is reached, but the allowed hosts through the proxy.
//   - Unix sockets: only those of commands of the same sandbox, and sockets that
//     Writable names. Others are doors out: a container daemon, a desktop bus, a
//     terminal multiplexer, burin itself.
//   - Not held: locks on files that can be read, and queues, semaphores and shared
//     memory (System V, POSIX) of the user's other programs.
//   - Never: flags, encryption and volumes of file systems, other users' rights (no setuid programs, no capabilities that reach
//     beyond files), tracing, namespaces and mounts, io_uring, foreign system call
//     tables, terminals other than the command's own (new ones cannot be made),
//     signals to processes outside (Linux 6.12).
//
// Where a system call filter with a supervisor is already at work (burin inside
// burin), or the guard may not touch its child's descriptors (some containers),
// the guard cannot act for commands: then loopback and Unix sockets are denied
// altogether, a command may change modes and times of files outside, and walls do not
// hold ([Support.Walls], [Sandbox.Missing]).
//
// # Elsewhere
//
// macOS enforces a similar policy with its own sandbox-exec, which cannot tell
// whose server listens on loopback and therefore denies it all but the proxy. On
// other systems nothing is enforced; [Available] says so in a sentence for the user.
package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/wall"
)

// Mode is how much a command may change.
type Mode string

const (
	ReadOnly       Mode = "read-only"
	WorkspaceWrite Mode = "workspace-write"
	Full           Mode = "full" // no sandbox
)

// Policy says what commands may do.
type Policy struct {
	Mode      Mode
	Workspace string   // absolute
	Writable  []string // further folders, absolute (temporary folder, caches); what is not there is left out
	Secret    []string // files and folders that must not even be read, absolute
	Readable  []string // folders in secret ones that may be read all the same, absolute
	Network   bool     // any host

	// Walls are files that must not be read or written wherever they are, by patterns
	// that are relative to Workspace or absolute. They hold in each mode; with Full they
	// are all that holds, and take from commands the means of getting around them: other
	// users' rights (sudo), namespaces, mounts, tracing.
	Walls []wall.Wall

	// Configs are configuration files of git behind walls, absolute. They can be replaced,
	// as git does it, by versions that make git execute nothing else (see package
	// gitconfig). On Linux only.
	Configs []string

	// Hosts are allowed when Network is false: "example.com" and "*.example.com"
	// (its subdomains) on ports 80 and 443, "example.com:8443", "example.com:*",
	// "10.0.0.7:5432". A name may lead to a private address if it is listed whole;
	// to this machine only "localhost" and addresses do.
	Hosts []string
}

// Support is what this machine can enforce.
type Support struct {
	Files, Network bool
	Walls          bool   // Policy.Walls
	How            string // "Landlock ABI 7, seccomp"
	Missing        string // a sentence for the user; empty if nothing is missing
}

// Available says what this machine can enforce.
func Available() Support { return available() }

// Sandbox is a policy at work. It holds the proxy of the allowed hosts. It is safe
// for concurrent use.
type Sandbox struct {
	policy  Policy // cleaned: links resolved, duplicates removed
	encoded []byte
	proxy   *proxy // nil without allowed hosts
	walled  bool   // walls hold
	walls   *wall.Set
	missing []string
}

// confinement is the policy as the guard gets it.
type confinement struct {
	Mode     Mode        `json:"mode"`
	Root     string      `json:"root,omitempty"`     // of walls: the workspace
	Writable []string    `json:"writable,omitempty"` // the workspace among them
	Secret   []string    `json:"secret,omitempty"`
	Readable []string    `json:"readable,omitempty"`
	Walls    []wall.Wall `json:"walls,omitempty"`
	Configs  []string    `json:"configs,omitempty"`
	Network  bool        `json:"network,omitempty"`
	Port     int         `json:"port,omitempty"` // of the proxy on loopback

	only []string // the only files that may be executed, by a program that is alone; nil: any
}

// Start prepares a sandbox. Errors are mistakes in p, or that the proxy cannot
// listen.
func Start(p Policy) (*Sandbox, error) {
	switch p.Mode {
	case Full:
		if len(p.Walls) == 0 {
			return &Sandbox{policy: p}, nil
		}
		p.Writable, p.Secret, p.Readable, p.Hosts, p.Network = nil, nil, nil, nil, true
	case ReadOnly, WorkspaceWrite:
	default:
		return nil, fmt.Errorf("sandbox mode must be read-only, workspace-write or full, not %q", p.Mode)
	}
	s := &Sandbox{policy: p, walled: available().Walls}
	if err := s.resolvePaths(); err != nil {
		return nil, err
	}
	var err error
	if s.walls, err = wall.Build(filepath.ToSlash(s.policy.Workspace), s.policy.Walls); err != nil {
		return nil, fmt.Errorf("sandbox: wall: %w", err)
	}
	if len(p.Walls) > 0 && !s.walled {
		s.missing = append(s.missing, "Rules that refuse files cannot be enforced on what commands do here: burin judges commands by their text alone.")
		s.policy.Walls, s.walls = nil, nil
		if p.Mode == Full {
			return s, nil
		}
	}
	c := confinement{Mode: p.Mode, Root: s.policy.Workspace, Secret: s.policy.Secret, Readable: s.policy.Readable, Walls: s.policy.Walls, Configs: p.Configs, Network: p.Network}
	if p.Mode == WorkspaceWrite {
		c.Writable = append([]string{s.policy.Workspace}, s.policy.Writable...)
	}
	if len(p.Hosts) > 0 && !p.Network {
		hosts, err := parseHosts(p.Hosts)
		if err != nil {
			return nil, err
		}
		if s.proxy, err = startProxy(hosts, systemWay()); err != nil {
			return nil, err
		}
		c.Port = s.proxy.port()
	}
	if s.encoded, err = json.Marshal(c); err != nil {
		return nil, fmt.Errorf("encode sandbox policy: %w", err)
	}
	return s, nil
}

// resolvePaths makes the paths of the policy absolute names without links, which
// is what the kernel compares.
func (s *Sandbox) resolvePaths() error {
	p := &s.policy
	for _, path := range slices.Concat([]string{p.Workspace}, p.Writable, p.Secret, p.Readable) {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("sandbox: %q is not an absolute path", path)
		}
	}
	workspace, err := filepath.EvalSymlinks(p.Workspace)
	if err != nil {
		return fmt.Errorf("sandbox: workspace: %w", err)
	}
	p.Workspace = workspace
	var writable []string
	for _, path := range p.Writable {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			writable = append(writable, resolved)
		} else if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("sandbox: writable folder: %w", err)
		}
	}
	p.Writable = unique(writable)
	var secret []string
	for _, path := range p.Secret {
		resolved := resolveExisting(path)
		secret = append(secret, resolved)
		if p.Mode != WorkspaceWrite {
			continue
		}
		for _, w := range append([]string{workspace}, p.Writable...) {
			if !below(resolved, w) || exceptsSecrets {
				continue
			}
			if s.walled {
				p.Walls = append(slices.Clip(p.Walls), hide(resolved)...)
			} else {
				s.missing = append(s.missing, fmt.Sprintf("%s cannot be hidden, because commands may write in %s.", path, w))
			}
			break
		}
	}
	p.Secret = unique(secret)
	var readable []string
	for _, path := range p.Readable {
		readable = append(readable, resolveExisting(path))
	}
	p.Readable = unique(readable)
	return nil
}

// hide are the walls around a secret in a writable folder.
func hide(path string) []wall.Wall {
	quoted := wall.Quote(path)
	return []wall.Wall{{Glob: quoted + "/**", Read: true, Write: true}}
}

// resolveExisting resolves links in that part of path that exists.
func resolveExisting(path string) string {
	path = filepath.Clean(path)
	for head, tail := path, ""; ; {
		if resolved, err := filepath.EvalSymlinks(head); err == nil {
			return filepath.Join(resolved, tail)
		}
		parent := filepath.Dir(head)
		if parent == head {
			return path
		}
		head, tail = parent, filepath.Join(filepath.Base(head), tail)
	}
}

func unique(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}

// below says whether path is folder or something in it. Both are clean.
func below(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
}

// Close ends the proxy.
func (s *Sandbox) Close() error {
	if s.proxy == nil {
		return nil
	}
	return s.proxy.close()
}

// Encoded is the policy for process.Options.Sandbox; nil if there is none to apply.
func (s *Sandbox) Encoded() []byte { return s.encoded }

// Missing says in sentences for the user which parts of this policy cannot be
// enforced on this machine, beyond what [Available] says of all; empty if none.
func (s *Sandbox) Missing() string { return strings.Join(s.missing, " ") }

// Walled reports whether the walls of the policy hold.
func (s *Sandbox) Walled() bool { return s.walled }

// Env is what to add to a command's environment (proxy variables). The proxy's
// address holds its password: it is of use in the sandbox only.
func (s *Sandbox) Env() []string {
	if s.proxy == nil {
		return nil
	}
	address := s.proxy.url()
	var env []string
	for _, v := range [...][2]string{
		{"http_proxy", address},
		{"https_proxy", address},
		{"all_proxy", address},
		{"no_proxy", "localhost,127.0.0.1,::1"}, // servers that commands start themselves
	} {
		env = append(env, v[0]+"="+v[1], strings.ToUpper(v[0])+"="+v[1])
	}
	return env
}

// Apply confines the calling thread, and all that is started from it, for good. It
// is called by guards only, on a thread that they give up afterwards (see
// [OnThread]): the rest of the guard stays free, and acts for the
// confined command where the kernel cannot judge. descendants lists the processes
// below one; it tells whose sockets are the sandbox's own.
func Apply(encoded []byte, descendants func(pid int) []int) error {
	var c confinement
	if err := json.Unmarshal(encoded, &c); err != nil {
		return fmt.Errorf("read policy: %w", err)
	}
	return c.apply(encoded, descendants)
}

// Wrap gives the command line that starts path with args (its name first) under
// the policy, on systems that confine by another program. Elsewhere it is the same.
func Wrap(encoded []byte, path string, args []string) (string, []string, error) {
	var c confinement
	if err := json.Unmarshal(encoded, &c); err != nil {
		return "", nil, fmt.Errorf("read policy: %w", err)
	}
	path, args = c.wrap(path, args)
	return path, args, nil
}
