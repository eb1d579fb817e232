package shell

import (
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/burin-dev/burin/internal/platform/process"
)

// drain is how long the output of a program may stay open after everything that
// could write to it was killed. Where a guard cannot find all, something may keep
// it open.
const drain = time.Second

// program is a guarded program and all it starts.
type program struct {
	cmd   *exec.Cmd
	out   *pump
	code  int
	ended chan struct{} // closed when all of it and its output have ended; code is set then
}

// launch says what to start.
type launch struct {
	path    string
	args    []string
	options process.Options
	stdin   *os.File // nil is an empty one
	stdout  *os.File
	stderr  *os.File
	out     *os.File         // the other end of stdout
	to      io.Writer        // takes what is read from out
	after   func(p *program) // called before ended is closed; may be nil
}

// start starts a program. It closes the files that are the program's in any case,
// and out at the end.
func start(l launch) (*program, error) {
	defer closeAll(l.stdin, l.stdout, l.stderr)
	cmd, err := process.Command(l.options, l.path, l.args...)
	if err == nil {
		if l.stdin != nil { // a nil *os.File in an interface is not nil
			cmd.Stdin = l.stdin
		}
		cmd.Stdout, cmd.Stderr = l.stdout, l.stderr
		err = cmd.Start()
	}
	if err != nil {
		l.out.Close()
		return nil, err
	}
	p := &program{cmd: cmd, out: startPump(l.out, l.to), ended: make(chan struct{})}
	go p.wait(l.after)
	return p, nil
}

func (p *program) wait(after func(*program)) {
	_ = p.cmd.Wait() // its error is the exit code again
	p.code = exitCode(p.cmd.ProcessState)
	p.out.finish()
	if after != nil {
		after(p)
	}
	close(p.ended)
}

func (p *program) terminate() { askToEnd(p.cmd) }

func (p *program) kill() { process.Kill(p.cmd) }

func (p *program) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// pump passes on what is read from a file, until nobody can write to it any more.
type pump struct {
	from *os.File
	done chan struct{}
}

func startPump(from *os.File, to io.Writer) *pump {
	p := &pump{from: from, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				_, _ = to.Write(buf[:n]) // sinks do not fail
			}
			if err != nil { // the end; of a terminal, EIO
				return
			}
		}
	}()
	return p
}

// finish waits for the end, which is near, and closes the file.
func (p *pump) finish() {
	timer := time.NewTimer(drain)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	}
	p.from.Close()
	<-p.done
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close() // twice where two are the same, which does no harm
		}
	}
}
