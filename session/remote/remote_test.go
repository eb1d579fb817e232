package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/session/remote"
)

func TestMain(m *testing.M) {
	if address := os.Getenv(watcherVariable); address != "" {
		if err := watcher(address); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// attach connects a client to a session over a socket.
func attach(t testing.TB, s *session.Session, name string, want, most remote.Rights) *remote.Client {
	t.Helper()
	return attachTo(t, s, name, want, remote.ServeOptions{Most: most})
}

func attachTo(t testing.TB, s *session.Session, name string, want remote.Rights, o remote.ServeOptions) *remote.Client {
	t.Helper()
	o.Open = s.Face
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Skip("no sockets here")
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		l.Close()
		if err == nil {
			err = remote.Serve(ctx, conn, o)
		}
		served <- err
	}()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := remote.Connect(t.Context(), conn, name, want)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	return c
}

func TestHandle(t *testing.T) {
	handletest.Run(t, func(t *testing.T, s *session.Session, name string, answers bool) session.Handle {
		return attach(t, s, name, remote.Own, remote.Own)
	})
}

// watcherVariable has the test be a client in a process of its own, of the owner at this
// address.
const watcherVariable = "REMOTE_WATCHER"

// watcher follows a session and reports how long each event took to arrive.
func watcher(address string) error {
	conn, err := net.Dial("unix", address)
	if err != nil {
		return err
	}
	c, err := remote.Connect(context.Background(), conn, "watcher", remote.Watch)
	if err != nil {
		return err
	}
	feed := c.Events(session.Cursor{})
	fmt.Println("ready")
	var took []time.Duration
	for {
		e, err := feed.Next(context.Background())
		if err != nil {
			if errors.Is(err, session.ErrClosed) || errors.Is(err, session.ErrOwnerGone) {
				return json.NewEncoder(os.Stdout).Encode(took)
			}
			return err
		}
		if e.Type == session.TitleChanged && strings.HasPrefix(e.Text, "say ") {
			fmt.Println(e.Text)
		}
		if sent, err := strconv.ParseInt(e.Text, 10, 64); err == nil && e.Type == session.TitleChanged {
			took = append(took, time.Since(time.Unix(0, sent)))
		}
	}
}

// The TypeScript client has each method that a session has.
func TestTypeScriptMethods(t *testing.T) {
	src, err := os.ReadFile("../../clients/typescript/src/methods.ts")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^  (\w+): \[`).FindAllStringSubmatch(string(src), -1) {
		there[m[1]] = true
	}
	for name := range remote.Requests() {
		if !there[name] && name != "follow" { // which is Session.events
			t.Errorf("methods.ts lacks %s", name)
		}
		delete(there, name)
	}
	for name := range there {
		t.Errorf("methods.ts has %s, which is no method", name)
	}
}
