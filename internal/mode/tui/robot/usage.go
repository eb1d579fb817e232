package robot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Usage is what a program has used since it started.
type Usage struct {
	// Wakeups are the voluntary context switches of all threads that live: each time
	// a thread slept and was woken.
	Wakeups int64
	CPU     time.Duration // user and system, of the process
	RSS     int64         // bytes in memory now
	Peak    int64         // the most there were
}

// Sub is what was used since before; RSS and Peak stay as they are.
func (u Usage) Sub(before Usage) Usage {
	u.Wakeups -= before.Wakeups
	u.CPU -= before.CPU
	return u
}

// Usage measures the program. It needs Linux and skips the test elsewhere.
func (r *Robot) Usage() Usage {
	r.t.Helper()
	if runtime.GOOS != "linux" {
		r.t.Skip("wake-ups and memory of a program are counted on Linux only")
	}
	u, err := usage(r.PID())
	if err != nil {
		r.t.Fatalf("measure the program: %v", err)
	}
	return u
}

func usage(pid int) (u Usage, err error) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	tasks, err := filepath.Glob(filepath.Join(proc, "task", "*", "status"))
	if err != nil || len(tasks) == 0 {
		return u, fmt.Errorf("process %d is gone: %w", pid, fs.ErrNotExist)
	}
	for _, name := range tasks {
		status, err := fields(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the thread ended
		}
		if err != nil {
			return u, err
		}
		u.Wakeups += status["voluntary_ctxt_switches"]
	}
	status, err := fields(filepath.Join(proc, "status"))
	if err != nil {
		return u, err
	}
	u.RSS, u.Peak = status["VmRSS"]<<10, status["VmHWM"]<<10
	u.CPU, err = cpu(filepath.Join(proc, "stat"))
	return u, err
}

// fields are the numbers of a status file of /proc.
func fields(name string) (map[string]int64, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	m := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		words := strings.Fields(value)
		if len(words) == 0 {
			continue
		}
		if n, err := strconv.ParseInt(words[0], 10, 64); err == nil {
			m[key] = n
		}
	}
	return m, nil
}

// cpu reads the 14th and 15th field of a stat file of /proc, in ticks of 10 ms.
func cpu(name string) (time.Duration, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	s := string(text) // the name of the program, in brackets, may hold anything
	words := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(words) < 13 {
		return 0, fmt.Errorf("%s has no processor time", name)
	}
	var ticks int64
	for _, w := range words[11:13] {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("processor time in %s: %w", name, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}
