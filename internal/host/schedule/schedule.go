// Package schedule keeps the prompts that burin runs at certain times, and what became of
// their last runs.
//
// A schedule is a file in burin's data folder: the times, the prompt, the folder and the flags.
// A timer of the system (package timer) starts burin with the id alone, so that nothing that a
// person wrote has to pass through a unit file or a shell.
package schedule

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/platform/filelock"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/platform/timer"
)

// Schedule is a prompt that comes again.
type Schedule struct {
	ID      string    `json:"id"`
	When    string    `json:"when"`   // as a person wrote it
	Prompt  []string  `json:"prompt"` // words of a command line, with @files
	Folder  string    `json:"folder"`
	Flags   []string  `json:"flags,omitempty"` // of burin
	Timer   string    `json:"timer"`           // one of [Timers]
	Path    string    `json:"path"`            // PATH of who added it: timers have a short one
	Created time.Time `json:"created"`
	Last    *Run      `json:"-"` // nil: it has not run yet
}

// Next is when it runs next; zero if that isn't known.
func (s *Schedule) Next() time.Time {
	w, err := timer.Parse(s.When)
	if err != nil {
		return time.Time{}
	}
	return w.Next(time.Now())
}

// Run is a run of a schedule.
type Run struct {
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"` // zero while it runs, and of one that was killed
	Session string    `json:"session,omitempty"`
	Outcome Outcome   `json:"outcome"`
	Error   string    `json:"error,omitempty"`
}

// Outcome says how a run has ended.
type Outcome string

// The outcomes.
const (
	Running     Outcome = "running"
	Done        Outcome = "done"
	Failed      Outcome = "failed"
	Stopped     Outcome = "stopped"
	Interrupted Outcome = "interrupted" // its process was killed
)

// ErrRunning means that a run of the schedule has not ended.
var ErrRunning = errors.New("its last run is still under way")

// Check reports what is wrong with times as a person wrote them.
func Check(when string) error {
	_, err := timer.Parse(when)
	return err
}

// Timers are the kinds of timers, the preferred one first.
func Timers() (all []string) {
	for _, k := range timer.Kinds() {
		all = append(all, string(k))
	}
	return all
}

// Store is where schedules are kept.
type Store struct {
	Data   string // burin's data folder
	Getenv func(string) string
}

func (st Store) dir() string { return filepath.Join(st.Data, "schedules") }

func (st Store) file(id, ending string) string { return filepath.Join(st.dir(), id+ending) }

// environment is what tells burin where its files are.
func (st Store) environment() []string {
	var env []string
	for _, name := range []string{"BURIN_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"} {
		if v := st.Getenv(name); v != "" {
			if name == "BURIN_HOME" {
				v, _ = filepath.Abs(v) // the folder is known
			}
			env = append(env, name+"="+v)
		}
	}
	return env
}

// Add keeps a schedule and writes its timer. with "" is the kind that this system has.
func (st Store) Add(ctx context.Context, s Schedule, with string) (*Schedule, error) {
	when, err := timer.Parse(s.When)
	if err != nil {
		return nil, err
	}
	kind := timer.Kind(with)
	if kind == "" {
		if kind, err = timer.Find(ctx); err != nil {
			return nil, err
		}
	}
	program, err := program()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(st.dir(), 0o700); err != nil {
		return nil, err
	}
	lock, err := filelock.Take(ctx, filepath.Join(st.dir(), "lock")) // a crontab is read and written
	if err != nil {
		return nil, err
	}
	defer filelock.Close(lock) //nolint:errcheck // it only gives the lock back
	s.When, s.Timer, s.Path, s.Created = strings.Join(strings.Fields(s.When), " "), string(kind), st.Getenv("PATH"), time.Now().Truncate(time.Second)
	for s.ID == "" {
		id := strings.ToLower(rand.Text()[:4])
		if _, err := os.Lstat(st.file(id, ".json")); errors.Is(err, fs.ErrNotExist) {
			s.ID = id
		}
	}
	if err := st.write(s.ID, ".json", s); err != nil {
		return nil, err
	}
	err = timer.Add(ctx, kind, st.Getenv, timer.Job{ID: s.ID, When: when, Command: []string{program, "schedule", "run", s.ID}, Env: st.environment()})
	if err != nil {
		return nil, errors.Join(err, os.Remove(st.file(s.ID, ".json")))
	}
	return &s, nil
}

// program is the path of burin to write down. Where PATH leads to this program, it is the one
// there: a package manager's update changes what that leads to.
func program() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find burin's executable: %w", err)
	}
	found, err := installed.Path("burin")
	if err != nil {
		return self, nil
	}
	a, err := os.Stat(found)
	b, err2 := os.Stat(self)
	if err != nil || err2 != nil || !os.SameFile(a, b) {
		return self, nil
	}
	return found, nil
}

// Remove removes a schedule and its timer. A run under way goes on, except on launchd.
func (st Store) Remove(ctx context.Context, id string) error {
	s, err := st.Get(id)
	if err != nil {
		return err
	}
	lock, err := filelock.Take(ctx, filepath.Join(st.dir(), "lock"))
	if err != nil {
		return err
	}
	defer filelock.Close(lock) //nolint:errcheck // it only gives the lock back
	if err := timer.Remove(ctx, timer.Kind(s.Timer), st.Getenv, s.ID); err != nil {
		return err
	}
	for _, ending := range []string{".json", ".run", ".lock"} {
		if e := os.Remove(st.file(s.ID, ending)); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// ErrUnknown means that no schedule has an id.
var ErrUnknown = errors.New("no such schedule")

var idForm = regexp.MustCompile(`^[a-z0-9]{1,32}$`)

// Get is the schedule with an id.
func (st Store) Get(id string) (*Schedule, error) {
	if !idForm.MatchString(id) {
		return nil, fmt.Errorf("%q: %w", id, ErrUnknown)
	}
	s := &Schedule{}
	err := st.read(id, ".json", s)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%q: %w", id, ErrUnknown)
	}
	if err != nil {
		return nil, fmt.Errorf("read schedule %s: %w", id, err)
	}
	s.ID = id
	s.Last = st.last(id)
	return s, nil
}

// last is the last run of a schedule; nil where there was none.
func (st Store) last(id string) *Run {
	r := &Run{}
	if err := st.read(id, ".run", r); err != nil {
		return nil
	}
	if r.Outcome == Running {
		if lock, err := st.lock(id); err == nil {
			_ = filelock.Close(lock) // it was only tried
			r.Outcome = Interrupted
		}
	}
	return r
}

// List lists the schedules, the one that runs next first. Those that can't be read are in err,
// with the others in list.
func (st Store) List() (list []*Schedule, err error) {
	files, err := filepath.Glob(st.file("*", ".json"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		s, e := st.Get(strings.TrimSuffix(filepath.Base(f), ".json"))
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b *Schedule) int { return cmp.Or(a.Next().Compare(b.Next()), cmp.Compare(a.ID, b.ID)) })
	return list, err
}

// Begin begins a run of a schedule. The error is [ErrRunning] where another one has not ended.
// opened notes down the session, end how it has ended; end must be called.
func (st Store) Begin(id string) (opened func(session string), end func(Outcome, error), _ error) {
	lock, err := st.lock(id)
	if err != nil {
		return nil, nil, err
	}
	r := Run{Started: time.Now().Truncate(time.Second), Outcome: Running}
	if err := st.write(id, ".run", r); err != nil {
		return nil, nil, errors.Join(err, filelock.Close(lock))
	}
	note := func() {
		if _, err := os.Lstat(st.file(id, ".json")); err == nil { // else it was removed meanwhile
			_ = st.write(id, ".run", r) // a full disk ends no run
		}
	}
	opened = func(session string) { r.Session = session; note() }
	end = func(o Outcome, err error) {
		r.Outcome, r.Ended = o, time.Now().Truncate(time.Second)
		if err != nil {
			r.Error = err.Error()
		}
		note()
		_ = filelock.Close(lock) // the process ends
	}
	return opened, end, nil
}

func (st Store) lock(id string) (*os.File, error) {
	f, err := os.OpenFile(st.file(id, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if free, err := filelock.Try(f); !free || err != nil {
		return nil, errors.Join(cmp.Or(err, ErrRunning), f.Close())
	}
	return f, nil
}

func (st Store) read(id, ending string, into any) error {
	b, err := smallfile.Read(st.file(id, ending), smallfile.Settings)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

func (st Store) write(id, ending string, of any) error {
	b, err := json.MarshalIndent(of, "", "  ")
	if err != nil {
		return err
	}
	if len(b) > smallfile.Settings {
		return fmt.Errorf("the schedule is larger than %d KB: name a file in the prompt with @", smallfile.Settings>>10)
	}
	return smallfile.Replace(st.file(id, ending), append(b, '\n'))
}
