package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/transcript"
)

// moments are what an agent may be at when burin is killed.
var moments = []string{"streaming", "in a tool", "merging", "compacting"}

// burin is killed at random moments while eight agents work. Nothing that they started survives; all
// that the model was told, or told, is in their files; what is the person's is as it was. Then
// --continue tells what each agent had done, and each goes on where it was.
func TestKillsWithAgents(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	runs := pacetest.Long(4, 20, 100)
	counts, slowest := map[string]int{}, time.Duration(0)
	for i := range runs {
		if t.Failed() {
			break
		}
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			k := newKilled(t)
			k.until(moments[i%len(moments)])
			for _, at := range k.kill() {
				counts[at]++
			}
			slowest = max(slowest, k.alone())
			k.whole()
			k.goesOn()
		})
	}
	t.Logf("%d kills: %v; the last process was gone after %v", runs, counts, slowest.Round(time.Millisecond))
	for _, at := range moments {
		if want := runs / 10; runs >= 100 && counts[at] < want {
			t.Errorf("%d of %d kills came while an agent was %s, want %d", counts[at], runs, at, want)
		}
	}
}

const killedAgents = 8

// killed is a burin with agents that is going to be killed.
type killed struct {
	*testing.T
	first *exec.Cmd
	work  string
	facts map[string]string // of the repository
	cmd   *exec.Cmd

	mu      sync.Mutex
	n       int                        // answers so far
	seen    map[string]map[string]bool // by agent: the marks that the model was sent
	at      map[string]map[string]bool // by moment: the agents that are there, as the model knows
	news    chan struct{}              // something of that has changed
	resumed bool
	heard   []request // after the kill
}

// marks are unique texts of answers and of results of tools.
var marks = regexp.MustCompile(`(said|ran)-(main|a\d)-\d+-`)

func newKilled(t *testing.T) *killed {
	t.Helper()
	k := &killed{T: t, seen: map[string]map[string]bool{}, at: map[string]map[string]bool{}, news: make(chan struct{}, 1)}
	for _, at := range moments {
		k.at[at] = map[string]bool{}
	}
	m := serveCrew(t, k.answer, k.over)
	k.first, k.work = crewHome(t, m.URL, "compaction: {thresholdTokens: 5000, keepRecentTokens: 100}\ntask: {isolation: {mode: worktree}}\n")
	for i := range 20 {
		writeFile(t, filepath.Join(k.work, fmt.Sprintf("f%d.txt", i)), []byte(strings.Repeat(fmt.Sprintln("line", i), 100)), 0o644)
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"config", "user.name", "P"}, {"config", "user.email", "p@example.com"}, {"add", "."}, {"commit", "-qm", "first"},
	} {
		k.git(args...)
	}
	writeFile(t, filepath.Join(k.work, "f0.txt"), []byte("stashed\n"), 0o644)
	k.git("stash", "-q")
	writeFile(t, filepath.Join(k.work, "f1.txt"), []byte("staged\n"), 0o644)
	k.git("add", ".")
	writeFile(t, filepath.Join(k.work, "f2.txt"), []byte("not committed\n"), 0o644)
	writeFile(t, filepath.Join(k.work, "mine.txt"), []byte("untracked\n"), 0o644)
	k.facts = k.repository()
	k.cmd = in(k.first, k.first.Path, k.work, "-p", "go")
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *killed) git(args ...string) string {
	k.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = k.work, append(slices.Clone(k.first.Env), "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		k.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

// repository is what must not change, whatever agents do.
func (k *killed) repository() map[string]string {
	k.Helper()
	all := map[string]string{"refs": k.git("for-each-ref"), "stashes": k.git("stash", "list"), "head": k.git("rev-parse", "HEAD"), "reflog": k.git("reflog")}
	for _, name := range []string{".git/index", ".git/config", ".git/HEAD", "f1.txt", "f2.txt", "mine.txt"} {
		data, err := os.ReadFile(filepath.Join(k.work, name))
		if err != nil {
			k.Fatal(err)
		}
		all[name] = string(data)
	}
	return all
}

// is notes what an agent is at.
func (k *killed) is(who, at string, on bool) {
	if on {
		k.at[at][who] = true
	} else {
		delete(k.at[at], who)
	}
	select {
	case k.news <- struct{}{}:
	default:
	}
}

// answer is what the model says. The agents a1 and a2 say much, a3 and a4 run commands, a5 and a6
// change files in folders of their own and are done, a7 and a8 are compacted again and again.
func (k *killed) answer(r request) llmtest.Turn {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.n++
	who := r.who
	if who == "" {
		who = "main"
	}
	if found := marks.FindStringSubmatch(r.text()); r.summary() && found != nil {
		who = found[2]
	} else if !r.summary() {
		if k.seen[who] == nil {
			k.seen[who] = map[string]bool{}
		}
		for _, mark := range marks.FindAllString(r.text(), -1) {
			k.seen[who][mark] = true
		}
	}
	mark := func(what string) string { return fmt.Sprintf("%s-%s-%d-", what, who, k.n) }
	if k.resumed {
		k.heard = append(k.heard, r)
		switch {
		case r.summary():
			return answers("What was done so far.")
		case who != "main":
			return answers(mark("said") + " I went on.")
		case strings.Contains(r.last(), "what now?"):
			var all []string
			for i := range killedAgents {
				all = append(all, fmt.Sprintf(`irc {"op":"send","to":"a%d","message":"go on","await":true}`, i+1))
			}
			return calling(mark("said"), all...)
		}
		return answers("The end.")
	}
	run := func(command string) string { // what it prints is not in the call
		return `bash {"command":"` + command + `; echo ra''` + strings.TrimPrefix(mark("ran"), "ra") + `"}`
	}
	slow := func(words int, turn llmtest.Turn) llmtest.Turn {
		turn.Parts[0].Text += strings.Repeat(" word", words)
		turn.Pace = 3 * time.Millisecond
		return turn
	}
	size := func(n int) int {
		if r.turn < 2 {
			return 1000
		}
		return n
	}
	switch {
	case r.summary():
		k.is(who, "compacting", true)
		return slow(40, answers("A summary."))
	case who == "main":
		text := startAgents(killedAgents, "")
		for _, isolated := range []string{"a5", "a6"} {
			text = strings.Replace(text, `{"id":"`+isolated+`"`, `{"isolated":true,"id":"`+isolated+`"`, 1)
		}
		return calling(mark("said"), text)
	case who == "a1" || who == "a2":
		k.is(who, "streaming", true)
		return slow(60, calling(mark("said"), "ls {}"))
	case who == "a3" || who == "a4":
		k.is(who, "in a tool", true) // when the answer has ended
		return calling(mark("said"), run("sleep 0.1"))
	case (who == "a5" || who == "a6") && r.turn == 0:
		return calling(mark("said"), run("for i in $(seq 3 19); do echo "+who+" >> f$i.txt; echo new > "+who+"-$i; done"))
	case who == "a5" || who == "a6":
		k.is(who, "merging", true)
		return answers(mark("said"))
	}
	return used(size(6000), calling(mark("said")+strings.Repeat("word-", 600), "ls {}"))
}

// over says that an answer has ended.
func (k *killed) over(r request, _ llmtest.Turn, _ bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.summary() {
		for who := range maps.Clone(k.at["compacting"]) {
			if strings.Contains(r.text(), "-"+who+"-") {
				k.is(who, "compacting", false)
			}
		}
	}
	k.is(r.who, "streaming", false)
}

// until waits for an agent that is there, and a moment more.
func (k *killed) until(at string) {
	k.Helper()
	late := time.After(time.Minute)
	for {
		k.mu.Lock()
		there := len(k.at[at]) > 0 && len(k.seen) > killedAgents
		k.mu.Unlock()
		if there {
			<-time.After(time.Duration(rand.Int64N(int64(150 * time.Millisecond))))
			return
		}
		select {
		case <-k.news:
		case <-late:
			k.Fatalf("no agent was %s", at)
		}
	}
}

// kill kills burin, and gives the moments that agents were in.
func (k *killed) kill() (all []string) {
	k.Helper()
	k.mu.Lock()
	for _, at := range []string{"streaming", "compacting"} {
		if len(k.at[at]) > 0 {
			all = append(all, at)
		}
	}
	_ = k.cmd.Process.Kill()
	k.mu.Unlock()
	if err := k.cmd.Wait(); k.cmd.ProcessState.Exited() {
		k.Fatalf("burin ended by itself: %v", err)
	}
	for i := range killedAgents {
		who := fmt.Sprintf("a%d", i+1)
		l, about := k.log(who)
		if l == nil {
			continue
		}
		last := l.Last(l.Leaf(), func(n transcript.Node) bool { return n.Type == transcript.TypeMessage }, func(*transcript.Entry) bool { return true })
		switch {
		case last == nil || last.Message.Role != llm.RoleAssistant:
		case len(last.Message.ToolCalls()) > 0 && strings.Contains(last.Message.ToolCalls()[0].Arguments, "sleep"):
			all = append(all, "in a tool")
		case strings.Contains(about, `"isolated":true`) && strings.Contains(about, `"over":false`) && len(last.Message.ToolCalls()) == 0:
			all = append(all, "merging")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// files finds the file of the session and those of its agents.
func (k *killed) files() (own, folder string) {
	k.Helper()
	found, _ := filepath.Glob(filepath.Join(k.first.Dir, "burin", "sessions", "*", "*.jsonl"))
	if len(found) != 1 {
		k.Fatalf("sessions: %v", found)
	}
	return found[0], transcript.ArtifactDir(found[0])
}

// log opens the transcript of an agent, and gives what is kept of it besides; nil: it has none.
func (k *killed) log(who string) (*transcript.Log, string) {
	k.Helper()
	_, folder := k.files()
	about, err := os.ReadFile(filepath.Join(folder, who+".agent.json"))
	if err != nil {
		k.Fatalf("the agent is not known: %v", err)
	}
	l, damage, err := transcript.ReadSession(filepath.Join(folder, who+".jsonl"), transcript.Options{})
	if errors.Is(err, fs.ErrNotExist) { // it had no answer yet
		return nil, string(about)
	}
	if err != nil || damage != nil && damage.Serious() {
		k.Fatalf("%s: %v, %+v", who, err, damage)
	}
	k.Cleanup(func() { l.Close() })
	return l, string(about)
}

// alone waits until no process is left that burin or an agent has started, and says how long it took.
func (k *killed) alone() time.Duration {
	k.Helper()
	began := time.Now()
	for {
		left := k.processes()
		took := time.Since(began)
		switch {
		case len(left) == 0:
			return took
		case took > 20*time.Second:
			k.Fatalf("processes are left: %q", left)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// processes are those whose environment or folder is in the home of this burin.
func (k *killed) processes() (all []string) {
	k.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		k.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ")) // it may have ended
		cwd, _ := os.Readlink(filepath.Join("/proc", e.Name(), "cwd"))
		line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if strings.Contains(string(env)+cwd+string(line), k.first.Dir) {
			all = append(all, fmt.Sprintf("%d %s in %s", pid, strings.ReplaceAll(string(line), "\x00", " "), cwd))
		}
	}
	return all
}

// whole checks that what was acknowledged is there, and what is the person's as it was.
func (k *killed) whole() {
	k.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	own, folder := k.files()
	for who, seen := range k.seen {
		path := filepath.Join(folder, who+".jsonl")
		if who == "main" {
			path = own
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // before the first answer
			data, err = os.ReadFile(path + ".draft")
		}
		if err != nil {
			k.Fatal(err)
		}
		if who != "main" && !strings.Contains(string(data), "Do the work number "+who[1:]+".") {
			k.Errorf("the file of %s lacks its task", who)
		}
		for mark := range seen {
			if !strings.Contains(string(data), mark) {
				k.Errorf("the model was sent %s by %s, and its file lacks it", mark, who)
			}
		}
	}
	now := k.repository()
	for name, was := range k.facts {
		if now[name] != was {
			k.Errorf("%s is %.300q, was %.300q", name, now[name], was)
		}
	}
	for i := 3; i < 20; i++ { // changes of agents came back whole, or not at all
		text := strings.Repeat(fmt.Sprintln("line", i), 100)
		data, err := os.ReadFile(filepath.Join(k.work, fmt.Sprintf("f%d.txt", i)))
		if rest, ok := strings.CutPrefix(string(data), text); err != nil || !ok || !slices.Contains([]string{"", "a5\n", "a6\n"}, rest) {
			k.Errorf("f%d.txt is %q, %v", i, data, err)
		}
	}
}

// goesOn resumes the session.
func (k *killed) goesOn() {
	k.Helper()
	k.mu.Lock()
	k.resumed = true
	k.mu.Unlock()
	want, lastSaid := map[string][]string{}, map[string]string{}
	for i := range killedAgents {
		who := fmt.Sprintf("a%d", i+1)
		l, about := k.log(who)
		want[who] = []string{"\n- " + who + " (task): Do the work number " + strconv.Itoa(i+1) + ".; it had "}
		if l == nil {
			continue
		}
		said := ""
		l.Last(l.Leaf(), func(n transcript.Node) bool { return n.Role == llm.RoleAssistant }, func(e *transcript.Entry) bool {
			said = marks.FindString(e.Message.Text())
			return said != ""
		})
		if i < 6 { // a summary may be in the place of what the last two have said
			lastSaid[who] = said
		}
		if said != "" {
			want[who] = append(want[who], "said last: "+said)
		}
		if strings.Contains(about, `"over":true`) {
			want[who] = append(want[who], "you have not read its result: agent://"+who)
		}
	}
	out, err := in(k.first, k.first.Path, k.work, "--continue", "-p", "what now?").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "The end.") {
		k.Fatalf("%v: %s", err, out)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var told, answered string
	went := map[string]string{}
	for _, r := range k.heard {
		switch {
		case r.who != "":
			went[r.who] = r.text()
		case strings.Contains(r.last(), "what now?"):
			told = r.text()
		default:
			answered = r.text()
		}
	}
	for who, texts := range want {
		_, line, _ := strings.Cut(told, texts[0])
		line, _, _ = strings.Cut(line, "\n")
		for _, text := range texts[1:] {
			if !strings.Contains(line, text) {
				k.Errorf("of %s the session reads %q, want %q", who, line, text)
			}
		}
		if !strings.Contains(told, texts[0]) {
			k.Errorf("the session reads nothing of %s: %s", who, told)
		}
		if !strings.Contains(went[who], "go on") || !strings.Contains(went[who], lastSaid[who]) || !strings.Contains(answered, "said-"+who+"-") {
			k.Errorf("%s did not go on: %s", who, answered)
		}
	}
	// What the isolated ones had changed is there now, each line of it once.
	for _, who := range []string{"a5", "a6"} {
		if !ran(k.seen[who]) {
			continue // it had changed nothing
		}
		for i := 3; i < 20; i++ {
			if data, err := os.ReadFile(filepath.Join(k.work, fmt.Sprintf("%s-%d", who, i))); err != nil || string(data) != "new\n" {
				k.Errorf("%s-%d is %q, %v", who, i, data, err)
			}
		}
	}
	if now := k.repository(); !maps.Equal(now, k.facts) {
		k.Errorf("the repository is %.2000q, was %.2000q", now, k.facts)
	}
	if list := k.git("worktree", "list"); strings.Count(list, "\n") != 1 {
		k.Errorf("worktrees are left: %s", list)
	}
	if left, _ := filepath.Glob(filepath.Join(k.first.Dir, "burin", "isolated", "*", "burin-*")); len(left) > 0 {
		k.Errorf("folders are left: %v", left)
	}
	if left := k.processes(); len(left) > 0 {
		k.Errorf("processes are left: %q", left)
	}
}

// ran reports whether a command has run.
func ran(seen map[string]bool) bool {
	for mark := range seen {
		if strings.HasPrefix(mark, "ran-") {
			return true
		}
	}
	return false
}
