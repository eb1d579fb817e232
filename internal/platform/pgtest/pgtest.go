// Package pgtest starts PostgreSQL servers for tests: real ones, of the programs that the
// machine has, each with data of its own.
//
// [Shared] gives the server that all tests of a package use, and [Start] one that ends with
// the test, for tests that crash it, change its settings or look at its files. Both skip the
// test where the machine has no PostgreSQL. [Server.Database] makes a database in a server.
// To start a server takes a second of the processor. A server listens on a free port of the
// loopback interface, where it lets everybody in but the members of the role [Guarded], who
// need their password.
//
// Nothing is synced to the disk unless [Options.Durable] is set: then what was committed
// survives [Server.Crash], as it survives a power cut.
package pgtest

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lib/pq"
)

const (
	// User is the superuser of a server.
	User = "burin"
	// Guarded is a role whose members must give a password.
	Guarded = "guarded"
)

// Options say what a server is like.
type Options struct {
	Durable bool // commits are synced to the disk
}

// Server is a running server.
type Server struct {
	Port int

	bin, dir string
	options  Options
	account  *user.User // that it runs as; nil: our own
	cmd      *exec.Cmd
	over     func() // is called when it has ended
	log      *tail
	made     atomic.Int32 // databases
}

// shared is the server of the tests of this process, which has one TestMain.
var shared sharing

type sharing struct {
	mu     sync.Mutex
	ends   bool // with the tests, by a [Main]
	server *Server
}

type tests interface{ Run() int }

type run struct{ tests }

// Main gives the tests of a package, which run with [Shared] and end its server.
func Main(m tests) tests { return run{m} }

// Run implements the interface of [testing.M].
func (r run) Run() int { return shared.run(r.tests) }

// Shared gives the server of all tests of the package, whose TestMain must use [Main]. It is
// started with the first test that needs it.
func Shared(t testing.TB) *Server {
	t.Helper()
	return shared.get(t)
}

func (s *sharing) run(m tests) int {
	s.mu.Lock()
	s.ends = true
	s.mu.Unlock()
	code := m.Run()
	if s.server != nil {
		if err := s.server.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "end PostgreSQL:", err)
			return max(code, 1)
		}
	}
	return code
}

func (s *sharing) get(t testing.TB) *Server {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ends {
		t.Fatal("pgtest.Shared: TestMain doesn't use pgtest.Main")
	}
	if s.server == nil {
		server := prepare(t, Options{})
		if err := server.start(); err != nil {
			t.Fatal(errors.Join(err, server.stop()))
		}
		s.server = server
	}
	return s.server
}

// Start starts a server.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := prepare(t, o)
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("end PostgreSQL: %v", err)
		}
	})
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// prepare finds the programs of a server.
func prepare(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{options: o, bin: programs()}
	if s.bin == "" {
		t.Skip("needs the programs of PostgreSQL: apt-get install postgresql")
	}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		account, err := user.Lookup("postgres")
		if err != nil {
			t.Skip("root can't run PostgreSQL, and there is no user postgres: apt-get install postgresql")
		}
		s.account = account
	}
	return s
}

func (s *Server) start() (err error) {
	// Not in the test's own folder, which other users cannot reach. Paths of sockets are short.
	if s.dir, err = os.MkdirTemp("", "pg"); err != nil {
		return err
	}
	if err := s.own(s.dir); err != nil {
		return err
	}
	initdb := s.command("initdb", "-D", s.data(), "-U", User, "--auth=trust", "--encoding=UTF8", "--locale=C", "--wal-segsize=1", "--no-sync")
	var out bytes.Buffer
	initdb.Stdout, initdb.Stderr = &out, &out
	over, err := start(initdb)
	if err == nil {
		err = initdb.Wait()
		over()
	}
	if err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, &out)
	}
	const hba = "local all all trust\nhost all +" + Guarded + " 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
	if err := os.WriteFile(filepath.Join(s.data(), "pg_hba.conf"), []byte(hba), 0o600); err != nil {
		return err
	}
	if s.Port, err = freePort(); err != nil {
		return err
	}
	if err := s.run(); err != nil {
		return err
	}
	return s.exec("postgres", "CREATE ROLE "+Guarded)
}

// stop ends the server and removes what it has kept.
func (s *Server) stop() error { return errors.Join(s.end(quick), os.RemoveAll(s.dir)) }

// programs is the folder of PostgreSQL's programs; "" if there is none.
func programs() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if len(found) > 0 {
		return filepath.Dir(found[0])
	}
	if postgres, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(postgres); err == nil {
			return filepath.Dir(real)
		}
	}
	return ""
}

func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Folder is where the server has all that it keeps.
func (s *Server) Folder() string { return s.data() }

// run starts the server on its data, and returns when it takes connections.
func (s *Server) run() error {
	settings := []string{
		"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(s.Port), "unix_socket_directories=" + s.dir,
		"max_connections=200", "shared_buffers=32MB", "log_statement=none", "lc_messages=C",
	}
	if !s.options.Durable {
		settings = append(settings, "fsync=off", "full_page_writes=off")
	}
	args := []string{"-D", s.data()}
	for _, v := range settings {
		args = append(args, "-c", v)
	}
	s.cmd, s.log = s.command("postgres", args...), new(tail)
	out, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if s.over, err = start(s.cmd); err != nil {
		return err
	}
	lines := bufio.NewReader(io.TeeReader(out, s.log))
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("start PostgreSQL: %w\n%s", err, s.log)
		}
		if strings.Contains(line, "ready to accept ") {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // or it would block at some point
	return nil
}

// start starts a command on a thread that does nothing else until over is called: the
// kernel ends the command with its thread, and what a test does besides may end any.
func start(cmd *exec.Cmd) (over func(), err error) {
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			<-ended
		}
	}()
	return func() { close(ended) }, <-started
}

// Address is that of a database, without a password.
func (s *Server) Address(database string) string { return s.AddressOf(User, database) }

// AddressOf is that of a database, for a user.
func (s *Server) AddressOf(user, database string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", user, s.Port, database)
}

// Database makes an empty database and gives its address.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprint("db", s.made.Add(1))
	s.Exec(t, "postgres", "CREATE DATABASE "+name)
	return s.Address(name)
}

// Exec runs statements in a database as the superuser.
func (s *Server) Exec(t testing.TB, database string, statements ...string) {
	t.Helper()
	if err := s.exec(database, statements...); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) exec(database string, statements ...string) error {
	connector, err := pq.NewConnector(s.Address(database))
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// Crash ends the server at once, without a checkpoint, as a power cut does with what it had
// not synced left to the system.
func (s *Server) Crash(t testing.TB) {
	t.Helper()
	if err := s.end(quick); err != nil {
		t.Fatal(err)
	}
}

// Restart starts a server that has crashed.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
}

// Standby makes the server a copy that can only be read.
func (s *Server) Standby(t testing.TB) {
	t.Helper()
	s.Crash(t)
	if err := os.WriteFile(filepath.Join(s.data(), "standby.signal"), nil, 0o644); err != nil { //nolint:gosec // the server is another user
		t.Fatal(err)
	}
	s.Restart(t)
}

// tail is the end of what a server has said.
type tail struct{ text []byte }

func (l *tail) Write(p []byte) (int, error) {
	const most = 8 << 10
	l.text = append(l.text, p...)
	l.text = l.text[max(0, len(l.text)-most):]
	return len(p), nil
}

func (l *tail) String() string { return string(l.text) }
