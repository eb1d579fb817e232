package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/burin-dev/burin/internal/platform/sandbox"
)

func executable() (string, error) { return os.Executable() }

func prepare(cmd *exec.Cmd, o Options) error {
	switch {
	case o.TTY:
		return errors.New("a program with a terminal of its own cannot be started on Windows")
	case len(o.ExtraFiles) > 0:
		return errors.New("files beyond the standard three cannot be passed on Windows")
	}
	// A group of its own keeps Ctrl-C to burin away, and is what Terminate addresses.
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	return nil
}

// Kill kills the program of a started Command and all that it started. It may be
// called more than once and from any goroutine.
func Kill(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Process.Kill() // the guard holds the only handle of the job
	}
}

// Terminate asks all of them to end (a break event of the console, which programs
// without a console do not see), without waiting.
func Terminate(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(cmd.Process.Pid))
	}
}

const exitCannotRun = 126

// run is the life of a guard: it puts itself into a job that ends all its
// processes when the guard ends, and waits for the program or for burin to end.
func (g guard) run() int {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // of Terminate: the guard goes on
	job, err := closedJob()
	if err != nil {
		return g.fail(err)
	}
	parent, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(g.parent))
	if err != nil {
		return g.fail(fmt.Errorf("burin (process %d) has ended", g.parent))
	}
	code, err := g.attend(parent)
	if err != nil {
		return g.fail(err)
	}
	_ = windows.TerminateJobObject(job, code) // ends the guard too, with this code
	return int(code)
}

func (g guard) fail(err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", g.args[0], err)
	return exitCannotRun
}

// closedJob makes a job that kills its processes when the last handle closes, and
// puts this process into it.
func closedJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, fmt.Errorf("create a job: %w", err)
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		return 0, fmt.Errorf("set the limits of the job: %w", err)
	}
	if err := windows.AssignProcessToJobObject(job, windows.CurrentProcess()); err != nil {
		return 0, fmt.Errorf("join the job: %w", err)
	}
	return job, nil
}

// attend starts the program and waits until it or burin ends.
func (g guard) attend(parent windows.Handle) (code uint32, err error) {
	if len(g.sandbox) > 0 {
		if err := sandbox.Apply(g.sandbox, Descendants); err != nil {
			return 0, fmt.Errorf("sandbox: %w", err)
		}
	}
	_, program, err := syscall.StartProcess(g.path, g.args, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{os.Stdin.Fd(), os.Stdout.Fd(), os.Stderr.Fd()},
	})
	if err != nil {
		return 0, err
	}
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		f.Close() // so that their other ends see the program close them
	}
	ended, err := windows.WaitForMultipleObjects([]windows.Handle{windows.Handle(program), parent}, false, windows.INFINITE)
	if err != nil || ended != windows.WAIT_OBJECT_0 {
		return exitCannotRun, nil
	}
	if err := windows.GetExitCodeProcess(windows.Handle(program), &code); err != nil {
		return exitCannotRun, nil
	}
	return code, nil
}
