package ipc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/filelock"
	"github.com/burin-dev/burin/internal/platform/ipc"
)

var (
	locked   = func() (bool, error) { return false, nil }
	unlocked = func() (bool, error) { return true, nil }
)

func TestJoin(t *testing.T) {
	a := newAddress(t)
	_, owner, err := ipc.Join(t.Context(), a, unlocked)
	if err != nil || owner == nil {
		t.Fatalf("the first is not the owner: %v", err)
	}
	accepted := acceptOne(owner)
	client, second, err := ipc.Join(t.Context(), a, func() (bool, error) {
		t.Error("the lock was tried though somebody listens")
		return false, nil
	})
	if err != nil || second != nil {
		t.Fatalf("the second is not a client: %v", err)
	}
	client.Close()
	(<-accepted).Close()
	if err := owner.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ipc.Dial(t.Context(), a); !errors.Is(err, ipc.ErrAbsent) {
		t.Errorf("after the end: %v", err)
	}
}

// The owner is just starting or ending: who waits gets it.
func TestJoinWaits(t *testing.T) {
	a := newAddress(t)
	tries := 0
	_, owner, err := ipc.Join(t.Context(), a, func() (bool, error) { tries++; return tries == 5, nil })
	if err != nil || owner == nil {
		t.Fatalf("the lock became free: %v", err)
	}
	owner.Close()
	tries = 0
	var late <-chan net.Conn
	client, _, err := ipc.Join(t.Context(), a, func() (bool, error) {
		if tries++; tries == 3 {
			late = acceptOne(listen(t, a))
		}
		return false, nil
	})
	if err != nil || client == nil || late == nil {
		t.Fatalf("the owner began to listen: %v", err)
	}
	client.Close()
	(<-late).Close()
}

func TestJoinGivesUp(t *testing.T) {
	pacetest.Costly(t)
	a := newAddress(t)
	began := time.Now()
	if _, _, err := ipc.Join(t.Context(), a, locked); !errors.Is(err, ipc.ErrSilent) || err.Error() != ipc.ErrSilent.Error() {
		t.Errorf("nobody answers: %v", err)
	}
	if took := time.Since(began); took < 1900*time.Millisecond || took > pacetest.Within(4*time.Second) {
		t.Errorf("it took %s", took)
	}
	errBroken := errors.New("a broken disk")
	if _, _, err := ipc.Join(t.Context(), a, func() (bool, error) { return false, errBroken }); !errors.Is(err, errBroken) {
		t.Errorf("the lock failed: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := ipc.Join(ctx, a, locked); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ipc.ErrSilent) {
		t.Errorf("nobody wants to wait: %v", err)
	}
}

// joinForever is a process of the race. It says what it is each time that changes, and
// ends only if a promise is broken or it is killed.
func joinForever() error {
	a := os.Getenv(address)
	for {
		if err := joinOnce(a); err != nil {
			return err
		}
	}
}

func joinOnce(a string) error {
	var files [3]*os.File // opened in this order: a witness, the lock, a witness
	for i, name := range []string{"before", "lock", "after"} {
		f, err := os.OpenFile(filepath.Join(os.Getenv(locks), name), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer filelock.Close(f) //nolint:errcheck // of a test
		files[i] = f
	}
	before, lock, after := files[0], files[1], files[2]
	client, owner, err := ipc.Join(context.Background(), a, func() (bool, error) { return filelock.Try(lock) })
	switch {
	case err != nil:
		return err
	case client != nil:
		return follow(client)
	}
	if err := witness(before, after); err != nil {
		return err
	}
	fmt.Println("owner")
	err = own(owner)
	return errors.Join(err, filelock.Close(before), filelock.Close(after))
}

// witness takes the two locks that every owner has while it has the lock. Of a process
// that was killed, the system gives one of them back before the lock, in whichever order
// it does it: if neither is free, there is another owner.
func witness(before, after *os.File) error {
	first, err1 := filelock.Try(before)
	second, err2 := filelock.Try(after)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if !first && !second {
		return errors.New("there are two owners")
	}
	for tick := time.NewTicker(time.Millisecond); !first || !second; <-tick.C {
		if !first {
			first, _ = filelock.Try(before)
		} else {
			second, _ = filelock.Try(after)
		}
	}
	return nil
}

// follow is a client until the owner has ended.
func follow(client net.Conn) error {
	defer client.Close()
	if _, err := io.ReadFull(client, make([]byte, 1)); err != nil {
		return nil // it was killed before it accepted
	}
	fmt.Println("client")
	_, _ = io.Copy(io.Discard, client)
	return nil
}

// own is the owner for a while.
func own(l *ipc.Listener) error {
	var mu sync.Mutex
	var clients []net.Conn
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("x"))
			mu.Lock()
			clients = append(clients, c)
			mu.Unlock()
		}
	})
	<-time.After(time.Duration(rand.Int64N(int64(60 * time.Millisecond))))
	err := l.Close()
	wg.Wait()
	for _, c := range clients {
		_ = c.Close()
	}
	return err
}

// Processes race for one lock and are killed at any moment: there are never two owners, and
// nobody is left with neither an owner nor the lock.
func TestRace(t *testing.T) {
	pacetest.Costly(t)
	a, dir := newAddress(t), t.TempDir()
	const processes = 5
	length, life := 4*time.Second, 400*time.Millisecond
	if testing.Short() {
		length = time.Second
	}
	if runtime.GOOS == "windows" { // where starting a process takes much longer
		length, life = 10*time.Second, 3*time.Second
	}
	var owners, clients, killed int
	var mu sync.Mutex
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return owners >= 10 && clients >= 10 && killed >= processes
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				o, c, err := raceAndKill(a, dir, life)
				mu.Lock()
				owners, clients, killed = owners+o, clients+c, killed+1
				mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	<-time.After(length)
	// Starting a process takes long where the machine has much to do.
	for end := time.Now().Add(time.Minute); !enough() && !t.Failed() && time.Now().Before(end); {
		<-time.After(length / 10)
	}
	close(stop)
	wg.Wait()
	t.Logf("%d times owner, %d times client, %d killed", owners, clients, killed)
	if !enough() {
		t.Error("too little has happened")
	}
}

// raceAndKill runs a process of the race and kills it within its life. It counts what the process was.
func raceAndKill(a, dir string, life time.Duration) (owners, clients int, err error) {
	exe, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), role+"=join", address+"="+a, locks+"="+dir)
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	select {
	case <-time.After(time.Duration(rand.Int64N(int64(life)))):
	case <-ended:
	}
	_ = cmd.Process.Kill()
	<-ended
	if text := out.String(); strings.Contains(text, "failed") {
		err = errors.New(text[strings.Index(text, "failed"):])
	}
	return strings.Count(out.String(), "owner\n"), strings.Count(out.String(), "client\n"), err
}
