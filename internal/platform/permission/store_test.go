package permission_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/platform/permission"
)

const childFile = "BURIN_TEST_PERMISSION_FILE"

func TestMain(m *testing.M) {
	if file := os.Getenv(childFile); file != "" {
		os.Exit(child(file))
	}
	goleak.VerifyTestMain(m)
}

// child is a process of its own that grants as many rules as it reads lines.
func child(file string) int {
	p, err := permission.Open(permission.Options{Project: "/nonexistent", File: file})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		if _, err := p.Grant(permission.Rule{Tool: "bash", Pattern: s.Text(), Scope: permission.User}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

// world is a place where policies are opened as processes of their own would.
type world struct {
	file, project string
	now           time.Time
}

func newWorld(t *testing.T) *world {
	return &world{file: filepath.Join(t.TempDir(), "sub", "permissions.json"), project: t.TempDir(), now: time.Date(2026, 5, 4, 12, 0, 0, 0, time.Local)}
}

func (w *world) open(t *testing.T) *permission.Policy {
	t.Helper()
	p, err := permission.Open(permission.Options{Project: w.project, File: w.file, Now: func() time.Time { return w.now }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func grant(t *testing.T, p *permission.Policy, text string, s permission.Scope) permission.Rule {
	t.Helper()
	r := rule1(t, text)
	r.Scope = s
	got, err := p.Grant(r)
	if err != nil {
		t.Fatal(err)
	}
	if got.ID == "" || got.Source == "" {
		t.Errorf("%+v has no id or source", got)
	}
	return got
}

func verdict(p *permission.Policy, line string) permission.Verdict {
	return p.Decide(bash(line)).Verdict
}

func TestScopes(t *testing.T) {
	w := newWorld(t)
	p := w.open(t)
	grant(t, p, "bash(session-tool)", permission.Session)
	grant(t, p, "bash(project-tool)", permission.Project)
	grant(t, p, "bash(user-tool:*)", permission.User)
	grant(t, p, "!bash(never:*)", permission.User)
	other := &world{file: w.file, project: t.TempDir(), now: w.now}
	const a, q, d = permission.Allow, permission.Question, permission.Deny
	for name, tt := range map[string]struct {
		p    *permission.Policy
		want [4]permission.Verdict
	}{
		"the same process":      {p, [4]permission.Verdict{a, a, a, d}},
		"a new process":         {w.open(t), [4]permission.Verdict{q, a, a, d}},
		"a new process, abroad": {other.open(t), [4]permission.Verdict{q, q, a, d}},
	} {
		for i, line := range []string{"session-tool", "project-tool", "user-tool x", "never"} {
			if got := verdict(tt.p, line); got != tt.want[i] {
				t.Errorf("%s: %s: %s", name, line, got)
			}
		}
	}
	var rules []string
	for _, r := range w.open(t).Rules() {
		rules = append(rules, fmt.Sprintf("%s %s %s", r, r.Scope, r.Source))
	}
	want := []string{"!bash(never:*) user you, 4 May 2026", "bash(project-tool) project you, 4 May 2026", "bash(user-tool:*) user you, 4 May 2026"}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(w.file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestGrantsReachOtherProcessesAndAreTakenBack(t *testing.T) {
	w := newWorld(t)
	one, two := w.open(t), w.open(t)
	r := grant(t, one, "bash(make)", permission.Project)
	if verdict(two, "make") != permission.Allow {
		t.Error("a grant does not reach a process that runs already")
	}
	if err := two.Revoke(r.ID); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*permission.Policy{one, two, w.open(t)} {
		if verdict(p, "make") != permission.Question {
			t.Error("what was taken back is still allowed")
		}
	}
	s := grant(t, one, "bash(make)", permission.Session)
	if err := one.Revoke(s.ID); err != nil || verdict(one, "make") != permission.Question {
		t.Errorf("session: %v", err)
	}
	for _, id := range []string{"", r.ID, "nonsense"} {
		if err := one.Revoke(id); err == nil {
			t.Errorf("%q was revoked", id)
		}
	}
	given, err := permission.Open(permission.Options{Project: w.project, Rules: []permission.Rule{rule1(t, "bash(make)")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := given.Revoke(given.Rules()[0].ID); err == nil || !strings.Contains(err.Error(), "flag") {
		t.Errorf("error %v", err)
	}
}

func TestExpiry(t *testing.T) {
	w := newWorld(t)
	p := w.open(t)
	for _, s := range []permission.Scope{permission.Session, permission.User} {
		r := rule1(t, "bash(make "+string(s)+")")
		r.Scope, r.Expires = s, w.now.Add(time.Hour)
		if _, err := p.Grant(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		after time.Duration
		want  permission.Verdict
	}{{0, permission.Allow}, {time.Hour - 1, permission.Allow}, {time.Hour, permission.Question}} {
		start := w.now
		w.now = start.Add(step.after)
		for _, line := range []string{"make session", "make user"} {
			if got := verdict(p, line); got != step.want {
				t.Errorf("after %s: %s: %s", step.after, line, got)
			}
		}
		w.now = start
	}
	w.now = w.now.Add(2 * time.Hour)
	grant(t, p, "bash(other)", permission.User)
	if data, err := os.ReadFile(w.file); err != nil || strings.Contains(string(data), "make user") {
		t.Errorf("an expired grant is still in the file: %v", err)
	}
	r := rule1(t, "bash(make)")
	r.Expires = w.now
	if _, err := p.Grant(r); err == nil {
		t.Error("a grant that has expired already was taken")
	}
}

func TestGrantErrors(t *testing.T) {
	p := policy(t, permission.Ask)
	for _, r := range []permission.Rule{
		{Tool: "bash", Pattern: "a; b:*"},
		{Tool: "ba sh"},
		{Tool: "bash", Scope: "forever"},
		{Tool: "bash", Scope: permission.User}, // nowhere to keep it
	} {
		if got, err := p.Grant(r); err == nil {
			t.Errorf("granted %+v", got)
		}
	}
	if len(p.Rules()) != 0 {
		t.Errorf("rules %v", p.Rules())
	}
	// An answer that cannot be kept holds for the session, and the problem is known.
	forGood := asker(func(d permission.Decision) permission.Answer {
		return permission.Answer{Allow: true, Grant: d.Offers[0].In(permission.User)}
	})
	if err := p.Authorize(t.Context(), bash("make"), forGood); err != nil || p.Problem() == nil || verdict(p, "make") != permission.Allow {
		t.Errorf("%v, problem %v", err, p.Problem())
	}
}

// A file that is damaged or that others can write allows nothing and stays as it is.
func TestBadFiles(t *testing.T) {
	good := `{"version":1,"rules":[{"id":"a","rule":"bash(make)","granted":"2026-01-02T03:04:05Z"}]}`
	for name, text := range map[string]string{
		"empty":             "",
		"torn":              good[:len(good)/2],
		"not JSON":          "rules:\n- bash\n",
		"newer":             strings.Replace(good, `"version":1`, `"version":2`, 1),
		"without a version": strings.Replace(good, `"version":1,`, ``, 1),
		"unknown field":     strings.Replace(good, `"id":"a"`, `"id":"a","only_on":"mondays"`, 1),
		"bad rule":          strings.Replace(good, "bash(make)", "bash(a;b:*)", 1),
		"rule without id":   strings.Replace(good, `"id":"a",`, ``, 1),
		"relative project":  strings.Replace(good, `"id":"a"`, `"id":"a","project":"x"`, 1),
		"two of them":       good + good,
		"huge":              good + strings.Repeat(" ", 5<<20),
	} {
		w := newWorld(t)
		running := w.open(t)
		grant(t, running, "bash(make)", permission.User)
		grant(t, running, "!bash(never)", permission.User)
		if verdict(running, "make") != permission.Allow {
			t.Fatal("not granted")
		}
		if err := os.WriteFile(w.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := permission.Open(permission.Options{Project: w.project, File: w.file})
		if err == nil || !strings.Contains(err.Error(), w.file) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", name, err)
		}
		if d := running.Decide(bash("make")); d.Verdict != permission.Question || !strings.Contains(d.Reason, "not in use") || running.Problem() == nil {
			t.Errorf("%s: a running process: %+v", name, d)
		}
		if verdict(running, "never") != permission.Deny {
			t.Errorf("%s: what was refused is no longer", name)
		}
		if _, err := running.Grant(permission.Rule{Tool: "bash", Pattern: "x", Scope: permission.User}); err == nil {
			t.Errorf("%s: granted over it", name)
		}
		if data, _ := os.ReadFile(w.file); string(data) != text {
			t.Errorf("%s: the file was changed", name)
		}
		// Mended, it is in use again.
		if err := os.WriteFile(w.file, []byte(good), 0o600); err != nil {
			t.Fatal(err)
		}
		if verdict(running, "make") != permission.Allow || running.Problem() != nil {
			t.Errorf("%s: mended, and %v", name, running.Problem())
		}
	}
}

func TestFileOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such modes")
	}
	w := newWorld(t)
	grant(t, w.open(t), "bash(make)", permission.User)
	if err := os.Chmod(w.file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := permission.Open(permission.Options{File: w.file}); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("error %v", err)
	}
}

// A clone cannot bring grants along.
func TestFileInTheProject(t *testing.T) {
	w := newWorld(t)
	// Who works in the home folder has the file in it, and nobody cloned that.
	if _, err := permission.Open(permission.Options{Project: w.project, Home: w.project, File: filepath.Join(w.project, ".burin", "p.json")}); err != nil {
		t.Error(err)
	}
	for _, file := range []string{"permissions.json", ".burin/permissions.json"} {
		if _, err := permission.Open(permission.Options{Project: w.project, File: filepath.Join(w.project, file)}); err == nil || !strings.Contains(err.Error(), "outside") {
			t.Errorf("%s: error %v", file, err)
		}
	}
}

// Many processes that grant at once lose nothing, and no reader sees half a file.
func TestProcessesGrantAtOnce(t *testing.T) {
	w := newWorld(t)
	w.open(t)
	const processes, each = 3, 8
	stop, torn := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(torn)
		for {
			if data, err := os.ReadFile(w.file); err == nil && !json.Valid(data) {
				torn <- fmt.Errorf("half a file: %q", data)
				return
			}
			select {
			case <-stop:
				return
			default:
				runtime.Gosched()
			}
		}
	}()
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childFile+"="+w.file)
			var in strings.Builder
			for n := range each {
				fmt.Fprintf(&in, "tool %d %d\n", i, n)
			}
			cmd.Stdin = strings.NewReader(in.String())
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	close(stop)
	if err := <-torn; err != nil {
		t.Error(err)
	}
	p := w.open(t)
	if n := len(p.Rules()); n != processes*each {
		t.Errorf("%d rules of %d are there", n, processes*each)
	}
	ids := map[string]bool{}
	for _, r := range p.Rules() {
		ids[r.ID] = true
	}
	if len(ids) != processes*each {
		t.Errorf("%d different ids", len(ids))
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(w.file), ".permissions-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestOpenErrors(t *testing.T) {
	for _, o := range []permission.Options{
		{Mode: "everything"},
		{Project: "relative"},
		{Rules: []permission.Rule{{Tool: "bash", Pattern: "a; b:*", Source: "config.yml:3"}}},
		{File: string([]byte{0})},
	} {
		if _, err := permission.Open(o); err == nil {
			t.Errorf("opened %+v", o)
		}
	}
}

func FuzzGrants(f *testing.F) {
	f.Add([]byte(`{"version":1,"rules":[{"id":"a","rule":"bash(make)","granted":"2026-01-02T03:04:05Z"}]}`))
	f.Add([]byte(`{"version":1,"rules":[{"id":"a","rule":"!edit(x)","project":"/x","granted":"2026-01-02T03:04:05Z","expires":"2027-01-02T03:04:05Z"}]}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(dir, "p.json")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := permission.Open(permission.Options{Project: dir + "/project", File: file})
		if err != nil {
			return
		}
		if _, err := p.Grant(permission.Rule{Tool: "bash", Pattern: "x", Scope: permission.User}); err != nil {
			t.Fatalf("%q was read and cannot be added to: %v", data, err)
		}
		if !slices.ContainsFunc(p.Rules(), func(r permission.Rule) bool { return r.String() == "bash(x)" }) {
			t.Fatalf("%q: the grant is not there", data)
		}
	})
}
