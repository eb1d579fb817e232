//go:build unix

package terminal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// marker is the argv[0] of guards. It does not hold burin's name: killing all burins
// by name shall leave the guards to their work.
const marker = "(terminal)"

// guard is the process that restores the terminal when this one dies. It reads from a
// pipe, whose other end nobody but this process has: the end of the pipe is the end of
// the process. What it is told is how to undo what is on at the moment, "" if nothing
// is.
type guard struct {
	cmd  *exec.Cmd
	pipe *os.File
}

// startGuard starts it in a session of its own, where no signal of the terminal's
// reaches it, and where changing a terminal that is not its own does not stop it.
func startGuard(tty *os.File, saved *state, report string) (*guard, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	g := &guard{pipe: write, cmd: &exec.Cmd{
		Path: self, Args: []string{marker, report}, Env: []string{"GOMAXPROCS=1", "GOGC=off"},
		Stdin: read, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}}
	// Not Stdout: exec would ask the file for its descriptor, which makes it blocking.
	err = control(tty, func(fd int) error {
		copied, err := syscall.Dup(fd)
		if err != nil {
			return err
		}
		syscall.CloseOnExec(copied)
		f := os.NewFile(uintptr(copied), "terminal")
		defer f.Close()
		g.cmd.Stdout = f
		return g.cmd.Start()
	})
	if err != nil {
		_ = write.Close()
		return nil, err
	}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.NativeEndian, saved); err != nil {
		g.end()
		return nil, err
	}
	g.send(b.Bytes())
	return g, nil
}

// send writes one record: its length in two bytes, and itself.
func (g *guard) send(record []byte) {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(record)))
	_, _ = g.pipe.Write(append(b, record...)) // a guard that is gone cannot be helped
}

func (g *guard) tell(off string) { g.send([]byte(off)) }

// end lets the guard go without doing anything, and waits for it.
func (g *guard) end() {
	g.tell("")
	_ = g.pipe.Close()
	_ = g.cmd.Wait()
}

// Main runs the guard if this process was started as one, and then does not return.
func Main() {
	if len(os.Args) == 2 && os.Args[0] == marker {
		os.Exit(watch(os.Stdin, os.Stdout, os.Args[1]))
	}
}

// watch waits for the end of the pipe and restores the terminal if something is on.
func watch(pipe io.Reader, tty *os.File, report string) int {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	read := func() ([]byte, error) {
		var n [2]byte
		if _, err := io.ReadFull(pipe, n[:]); err != nil {
			return nil, err
		}
		b := make([]byte, binary.BigEndian.Uint16(n[:]))
		_, err := io.ReadFull(pipe, b)
		return b, err
	}
	raw, err := read()
	if err != nil {
		return 1
	}
	var saved state
	if err := binary.Read(bytes.NewReader(raw), binary.NativeEndian, &saved); err != nil {
		return 1
	}
	var off []byte
	for {
		b, err := read()
		if err != nil {
			break
		}
		off = b
	}
	if len(off) == 0 {
		return 0
	}
	// What stands below the cursor is the rest of a picture that nobody owns any more.
	fmt.Fprintf(tty, "%s\r\x1b[J\r\n", off)
	restore(tty, tty, &saved)
	fmt.Fprintf(tty, "burin ended unexpectedly; the conversation is saved: burin --continue resumes it.\n")
	if info, err := os.Stat(report); err == nil && info.Size() > 0 {
		fmt.Fprintf(tty, "Its last output is in %s.\n", report)
	}
	return 0
}
