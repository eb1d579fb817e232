package pgtest_test

import (
	"runtime"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
)

// A server goes on when the thread ends that the test began on: what a test does besides may
// end any thread.
func TestThreadEnds(t *testing.T) {
	pacetest.Costly(t)
	started := make(chan *pgtest.Server)
	go func() {
		defer close(started)
		runtime.LockOSThread() // and never unlocked: it ends with the goroutine
		s := pgtest.Start(t, pgtest.Options{})
		started <- s
	}()
	s := <-started
	if s == nil {
		t.FailNow()
	}
	<-started
	for range 20 {
		s.Exec(t, "postgres", "SELECT 1")
	}
}
