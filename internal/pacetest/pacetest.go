// Package pacetest measures how fast the machine is while a test runs. Budgets of time are
// promises for an idle machine; on a busy or a slower one they grow by as much as an empty
// program takes longer to start and end there, so that a budget tells of burin and not of
// what else runs.
package pacetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// idle is what an empty program takes from start to end on the idle machine that the
// budgets are meant for.
const idle = 1200 * time.Microsecond

// most is how much a budget grows at most. A machine that is slower than that can't tell.
const most = 4

// Machine is the machine as it was while a test ran.
type Machine struct {
	t       testing.TB
	program string // does nothing
	took    []time.Duration
}

// New builds the empty program.
func New(t testing.TB) *Machine {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": "package main\n\nfunc main() {}\n", "go.mod": "module empty\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := &Machine{t: t, program: filepath.Join(dir, "empty")}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", m.program, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return m
}

// Look measures the machine at this moment. Do it between the measurements that count.
func (m *Machine) Look() {
	m.t.Helper()
	began := time.Now()
	if err := exec.Command(m.program).Run(); err != nil {
		m.t.Fatal(err)
	}
	m.took = append(m.took, time.Since(began))
}

// Allow is a budget on this machine: the faster half of the looks speaks for it, as for
// what is measured.
func (m *Machine) Allow(budget time.Duration) time.Duration {
	for len(m.took) < 20 {
		m.Look()
	}
	slices.Sort(m.took)
	slower := min(max(float64(m.took[len(m.took)/4])/float64(idle), 1), most)
	if slower > 1 {
		m.t.Logf("an empty program takes %.1f ms here, %.1f times as long as where the budgets are from", m.took[len(m.took)/4].Seconds()*1000, slower)
	}
	return time.Duration(slower * float64(budget))
}
