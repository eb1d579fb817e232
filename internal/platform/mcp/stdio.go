package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/jsontext"
	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/prose"
)

// farewell is how long a program may take to end when its input has, and a web service to hear
// that the connection ends.
const farewell = 300 * time.Millisecond

// pipes are the standard streams of a program.
type pipes struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	said *ending
	free func() // ends its sandbox

	writing sync.Mutex
	ended   chan struct{}
}

// inherited are the variables that a program gets from burin's environment: what programs need
// to run, and nothing that is a key.
var inherited = []string{
	"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TZ", "TMPDIR", "TEMP", "TMP",
	"APPDATA", "LOCALAPPDATA", "HOMEDRIVE", "HOMEPATH", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "USERNAME", "USERPROFILE", "PATHEXT", "COMSPEC",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	Depth,
}

// Depth is the variable that tells a server how many burins, each a server of the one above, stand above it.
const Depth = "BURIN_MCP_DEPTH"

// environment is that of a program.
func environment(all []string, own map[string]string) []string {
	out := []string{}
	for _, v := range all {
		name, _, _ := strings.Cut(v, "=")
		upper := strings.ToUpper(name)
		if slices.Contains(inherited, upper) || strings.HasPrefix(upper, "LC_") || strings.HasPrefix(upper, "XDG_") {
			out = append(out, v)
		}
	}
	for name, value := range own {
		out = append(out, name+"="+value)
	}
	return out
}

// start runs the program of a server.
func start(c *conn, s *Server, dir string, o *Options) (err error) {
	how := process.Options{Dir: dir, Env: environment(o.Environ, s.Env)}
	if s.Dir != "" {
		how.Dir = s.Dir
	}
	p := &pipes{said: new(ending), ended: make(chan struct{}), free: func() {}}
	if s.Sandbox != nil {
		if o.Confine == nil {
			return errors.New("no program can be confined here")
		}
		box, err := o.Confine(s.Sandbox, dir)
		if err != nil {
			return err
		}
		how.Sandbox, how.Env, p.free = box.Policy, append(how.Env, box.Env...), box.Close
	}
	defer func() {
		if err != nil {
			p.free()
		}
	}()
	cmd, err := process.Command(how, s.Command, s.Args...)
	if err != nil {
		return err
	}
	p.cmd = cmd
	cmd.Stderr = p.said
	if p.in, err = cmd.StdinPipe(); err != nil {
		return fmt.Errorf("start %s: %w", s.Command, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", s.Command, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.Command, err)
	}
	c.transport = p
	go p.read(c, out)
	return nil
}

// read takes what the program says until it ends.
func (p *pipes) read(c *conn, out io.Reader) {
	lines := jsontext.NewLines(out, maxMessage, 0)
	for {
		line, err := lines.Next()
		if errors.Is(err, jsontext.ErrTooLong) {
			continue
		}
		if err != nil {
			break
		}
		c.take(line)
	}
	process.Kill(p.cmd) // what closed its output does not work any more
	err := p.cmd.Wait()
	p.free()
	close(p.ended)
	why := errEnded
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		why = fmt.Errorf("%w (%s)", errEnded, exit)
	}
	c.fail(why)
}

func (p *pipes) send(_ context.Context, m parcel) (bool, error) {
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err := p.in.Write(append(m.line, '\n'))
	if err != nil {
		return false, errEnded
	}
	return false, nil
}

// close ends the program: at first politely.
func (p *pipes) close() {
	_ = p.in.Close()
	late := time.NewTimer(farewell)
	defer late.Stop()
	select {
	case <-p.ended:
		return
	case <-late.C:
	}
	process.Kill(p.cmd)
	<-p.ended
}

func (p *pipes) words() string { return p.said.String() }

// ending keeps the end of what is written to it.
type ending struct {
	mu   sync.Mutex
	text []byte
}

func (e *ending) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text = append(e.text, b...)
	if len(e.text) > maxLog {
		e.text = append([]byte(nil), e.text[len(e.text)-maxLog:]...)
	}
	return len(b), nil
}

func (e *ending) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return prose.Clean(strings.TrimSpace(string(e.text)), 4)
}
