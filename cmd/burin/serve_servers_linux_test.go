package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/search"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/transcript"
)

// pair is two servers of one database. Either may be killed, stopped and started again.
type pair struct {
	*testing.T
	cmds  [2]*exec.Cmd // as templates
	ports [2]string

	mu      sync.Mutex
	running [2]*exec.Cmd
	said    [2]strings.Builder

	model *llmtest.Server
	db    *store.DB // beside the servers
	store *project.Store

	asked   sync.Map // by turn: how often the model was asked, *atomic.Int32
	stopped atomic.Bool
}

var turnWords = regexp.MustCompile(`turn (\d+) (\d+)$`)

// newPair starts both. The first one has an address in its settings, up to the port. more are settings of
// the server that both have, and trust is a file with certificates that they accept; "" is none.
func newPair(t *testing.T, database, address, more, trust string) *pair {
	t.Helper()
	p := newPairModel(t)
	for i, port := range freePorts(t, len(p.cmds)) {
		p.ports[i] = "127.0.0.1:" + port
		config := rpcConfig + "server:\n  database: " + database + "&application_name=" + serverName(i) + "\n" + more
		if i == 0 { // the other one reaches it there
			config += "  " + address + p.ports[i][strings.LastIndexByte(p.ports[i], ':'):] + "\n"
		}
		p.cmds[i] = machine(t, &brain{srv: p.model}, config)
		if trust != "" {
			p.cmds[i].Env = append(p.cmds[i].Env, "SSL_CERT_FILE="+trust)
		}
	}
	p.start(0)
	// The servers share a key, as they must.
	key, err := os.ReadFile(filepath.Join(homeOf(p.cmds[0]), "burin", "server.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(homeOf(p.cmds[1]), "burin", "server.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	db := p.open(database, p.cmds[0])
	p.start(1)
	var n int
	for late := time.Now().Add(time.Minute); n == 0 && time.Now().Before(late); p.rest() {
		if err := db.QueryRow(t.Context(), `SELECT count(*) FROM {servers} WHERE address LIKE 'http://localhost:%'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	if n != 1 {
		t.Errorf("%d servers say the address of the settings", n)
	}
	return p
}

// serverName is what PostgreSQL knows a server by.
func serverName(i int) string { return fmt.Sprint("server", i) }

// newPairModel is a pair without servers: a model, and what ends with the test.
func newPairModel(t *testing.T) *pair {
	t.Helper()
	p := &pair{T: t}
	var err error
	if p.model, err = llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: slices.Repeat([]llmtest.Turn{{Reply: p.reply, Pace: 20 * time.Millisecond}}, 200_000)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.model.Close)
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, cmd := range p.running {
			if cmd != nil {
				_ = cmd.Process.Kill() // it may have ended
				_ = cmd.Wait()
			}
		}
	})
	return p
}

// newSingle is a pair of one server, whose database is a file.
func newSingle(t *testing.T) *pair {
	t.Helper()
	p := newPairModel(t)
	p.alone(machine(t, &brain{srv: p.model}, rpcConfig))
	return p
}

// alone starts the one server of a machine.
func (p *pair) alone(cmd *exec.Cmd) {
	p.Helper()
	at := "127.0.0.1:" + freePorts(p.T, 1)[0]
	p.cmds[0], p.ports = cmd, [2]string{at, at}
	p.start(0)
	p.open(filepath.Join(homeOf(cmd), "burin", "server.db"), cmd)
}

// open opens a database beside the servers, with the key of one of them.
func (p *pair) open(database string, cmd *exec.Cmd) *store.DB {
	p.Helper()
	db, err := store.Open(p.Context(), database, "", serverParts()...)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { db.Close() })
	v, err := vault.Open(p.Context(), db, vault.KeyFile(filepath.Join(homeOf(cmd), "burin", "server.key")), vault.Options{})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(v.Close)
	p.db = db
	p.store = project.New(db, v, vfs.New(db, vfs.Limits{}), search.New(db, v, 0), nil)
	return db
}

// reply answers "turn CHAT N" in some steps: first a calculation, then words.
func (p *pair) reply(r *llm.Request) []llm.Event {
	asked := ""
	for _, m := range slices.Backward(r.Messages) {
		if found := turnWords.FindString(strings.TrimSpace(m.Text())); m.Role == llm.RoleUser && found != "" {
			asked = found
			break
		}
	}
	n, _ := p.asked.LoadOrStore(asked, new(atomic.Int32))
	n.(*atomic.Int32).Add(1)
	used := llm.Usage{Input: 100, Output: 20}
	if r.Messages[len(r.Messages)-1].Role != llm.RoleToolResult {
		return append(llmtest.Call("call_"+strings.ReplaceAll(asked, " ", "_"), "calc", `{"expressions":["6*7"]}`), llmtest.Stop(llm.StopToolUse, used)...)
	}
	return append(llmtest.Say("The answer to "+asked+" is 42, and these words take their time."), llmtest.Stop(llm.StopEnd, used)...)
}

func (p *pair) url(i int) string { return "http://" + p.ports[i] }

// start starts a server, and waits until it answers.
func (p *pair) start(i int) {
	p.Helper()
	cmd := in(p.cmds[i], p.cmds[i].Path, p.cmds[i].Dir)
	cmd.Env = append(slices.Clone(cmd.Env), tokenVariable+"="+testToken)
	cmd.Args = append(cmd.Args, "serve", "--log", "--addr", p.ports[i])
	cmd.Stderr = &p.said[i]
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		_ = cmd.Wait()
		p.Fatalf("server %d: %v: %s", i, err, &p.said[i])
	}
	go io.Copy(io.Discard, out) //nolint:errcheck // it ends with the server
	p.mu.Lock()
	p.running[i] = cmd
	p.mu.Unlock()
}

func (p *pair) kill(i int) {
	p.Helper()
	p.mu.Lock()
	cmd := p.running[i]
	p.mu.Unlock()
	if err := cmd.Process.Kill(); err != nil {
		p.Fatal(err)
	}
	_ = cmd.Wait()
}

// ask asks one of the servers until one answers with the status, and gives the answer.
func (p *pair) ask(status int, verb, path string, with any) []byte {
	p.Helper()
	body, err := json.Marshal(with)
	if err != nil {
		p.Fatal(err)
	}
	last := ""
	client := http.Client{Timeout: 40 * time.Second}
	for late := time.Now().Add(3 * time.Minute); time.Now().Before(late); {
		r, err := http.NewRequestWithContext(p.Context(), verb, p.url(rand.N(2))+path, strings.NewReader(string(body)))
		if err != nil {
			p.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+testToken)
		r.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(r)
		if err != nil {
			last = err.Error()
			p.rest()
			continue
		}
		data, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err == nil && answer.StatusCode == status {
			return data
		}
		last = fmt.Sprintf("%d %s %v", answer.StatusCode, data, err)
		p.rest()
	}
	p.Errorf("%s %s: %s", verb, path, last)
	return nil
}

// rest is the pause of a client before it tries again.
func (p *pair) rest() {
	select {
	case <-time.After(50 * time.Millisecond):
	case <-p.Context().Done():
	}
}

// heard follows a chat at one server or the other, and keeps the entries that it has heard of.
type heard struct {
	mu      sync.Mutex
	entries []string
	last    map[string]uint64 // by epoch: the number of the last event
	again   []string          // numbers that came twice, or late
	source  map[string]string // of each entry: where it was heard of
	there   chan struct{}     // closed when it knows where it is
}

// numbered notes the number of an event.
func (w *heard) numbered(epoch string, seq uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == nil {
		w.last = map[string]uint64{}
	}
	if seq <= w.last[epoch] {
		w.again = append(w.again, fmt.Sprintf("%d of %s after %d", seq, epoch, w.last[epoch]))
	}
	w.last[epoch] = seq
}

func (p *pair) follow(chat string, w *heard) {
	last := ""
	for i := 0; !p.stopped.Load(); i++ {
		r, err := http.NewRequestWithContext(p.Context(), "GET", p.url(i%2)+"/v1/events?session="+chat, nil)
		if err != nil {
			return
		}
		r.Header.Set("Authorization", "Bearer "+testToken)
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			p.rest()
			continue
		}
		in, at, data := bufio.NewScanner(answer.Body), last, ""
		in.Buffer(nil, 1<<20)
		for in.Scan() && !p.stopped.Load() {
			if id, ok := strings.CutPrefix(in.Text(), "id: "); ok {
				at = id
			}
			if line, ok := strings.CutPrefix(in.Text(), "data: "); ok {
				data = line
			}
			if in.Text() != "" || data == "" { // the event isn't whole
				continue
			}
			if last == "" && at != "" {
				close(w.there)
			}
			last = at
			var v struct {
				Event struct {
					Seq           uint64
					Type, EntryID string
					Entries       int // of the transcript when an owner began
				}
				Ended any
			}
			if json.Unmarshal([]byte(data), &v) != nil || v.Ended != nil {
				break
			}
			data = ""
			if v.Event.Seq > 0 { // the id before it says where the next one is
				_, epoch, _ := strings.Cut(at, "@")
				epoch, _, _ = strings.Cut(epoch, ".")
				w.numbered(epoch, v.Event.Seq)
			}
			switch {
			case v.Event.Type == "owner_changed":
				p.missed(chat, w, v.Event.Entries, fmt.Sprintf("the list, after event %s of server %d", at, i%2))
			case v.Event.EntryID != "":
				w.add(v.Event.EntryID, fmt.Sprintf("%s, before event %s of server %d", v.Event.Type, at, i%2))
			}
		}
		answer.Body.Close()
	}
}

func (w *heard) add(id, source string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entries = append(w.entries, id)
	if w.source == nil {
		w.source = map[string]string{}
	}
	w.source[id] = source
}

// missed asks for what was written while nobody told this client, up to a number of entries.
func (p *pair) missed(chat string, w *heard, entries int, source string) {
	all := p.nodes(chat)
	for _, n := range all[:min(entries, len(all))] {
		w.mu.Lock()
		known := slices.Contains(w.entries, n.ID)
		w.mu.Unlock()
		if !known {
			w.add(n.ID, source)
		}
	}
}

func (p *pair) nodes(chat string) (all []nodeOf) {
	for {
		var page struct {
			Nodes []nodeOf
			Total int
		}
		data := p.ask(http.StatusOK, "POST", "/v1/sessions/"+chat+"/nodes", map[string]any{"from": len(all)})
		if err := json.Unmarshal(data, &page); err != nil {
			p.Errorf("nodes: %v: %s", err, data)
			return all
		}
		all = append(all, page.Nodes...)
		if len(page.Nodes) == 0 || len(all) >= page.Total {
			return all
		}
	}
}

// Two servers share a database. One of them is killed again and again, and once stopped for longer than
// its leases. Every turn that was accepted ends, once; the one that was stopped writes nothing stale.
func TestTwoServers(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	chats, kills := pacetest.Long(8, 20, 100), pacetest.Long(2, 10, 50)
	stop := pacetest.Long(0, 20*time.Second, time.Minute)
	database := pgtest.Start(t, pgtest.Options{}).Database(t)
	p := newPair(t, database, "address: http://localhost", "", "")
	p.watch()
	c := p.gather(chats)
	for range kills {
		select {
		case <-time.After(time.Duration(rand.N(int64(2 * time.Second)))):
		case <-t.Context().Done():
		}
		p.kill(0)
		p.start(0)
	}
	if stop > 0 {
		p.signal(1, syscall.SIGSTOP)
		select {
		case <-time.After(stop):
		case <-t.Context().Done():
		}
		p.signal(1, syscall.SIGCONT)
	}
	c.finish()
	turns := 0
	for i := range c.turns {
		turns += int(c.turns[i].Load())
	}
	p.findsAll(turns)
	c.fair()
	t.Logf("%d chats, %d kills: %s", chats, kills, c.figures())
	p.stopped.Store(true)
	p.kill(0)
	p.kill(1)
	c.watchers.Wait()
	for i := range p.said {
		for line := range strings.Lines(p.said[i].String()) {
			if strings.Contains(line, "cannot be saved") { // why an append failed
				t.Logf("server %d: %s", i, strings.TrimSpace(line))
			}
		}
	}
}

// crowd is clients that each have a chat, in which they say one thing after the other.
type crowd struct {
	*pair
	ids               []string
	turns             []atomic.Int32 // of each chat that were accepted
	watches           []heard
	done              atomic.Bool
	clients, watchers sync.WaitGroup
}

// gather begins the work of a crowd.
func (p *pair) gather(chats int) *crowd {
	c := &crowd{pair: p, ids: make([]string, chats), turns: make([]atomic.Int32, chats), watches: make([]heard, chats)}
	for i := range chats {
		c.clients.Go(func() { c.work(i) })
	}
	return c
}

func (c *crowd) work(i int) {
	var begun struct{ Chat struct{ ID string } }
	if err := json.Unmarshal(c.ask(http.StatusCreated, "POST", "/v1/chats", map[string]any{"title": fmt.Sprint("chat ", i)}), &begun); err != nil {
		c.Error(err)
		return
	}
	c.ids[i] = begun.Chat.ID
	c.watches[i].there = make(chan struct{})
	c.watchers.Go(func() { c.follow(c.ids[i], &c.watches[i]) })
	<-c.watches[i].there
	for n := 0; n == 0 || !c.done.Load(); n++ {
		text := fmt.Sprintf("turn %d %d", i, n)
		c.ask(http.StatusOK, "POST", "/v1/sessions/"+c.ids[i]+"/submit", map[string]any{"id": text, "message": map[string]any{"role": "user", "content": text}})
		c.turns[i].Store(int32(n + 1))
		for !c.Failed() { // until it is settled
			open, err := c.store.Unsettled(c.Context())
			if _, ok := open[c.ids[i]]; err == nil && !ok {
				break
			}
			c.rest()
		}
	}
}

// finish ends the work, and holds what is kept against what was accepted and what clients have heard of.
func (c *crowd) finish() {
	c.Helper()
	c.done.Store(true)
	c.clients.Wait()
	c.settled(c.ids)
	for i, id := range c.ids {
		c.heardAll(id, &c.watches[i])
		c.verify(i, id, int(c.turns[i].Load()), int(c.turns[i].Load()), &c.watches[i])
	}
}

// watch has the database note who writes what: which server began to write a transcript or to hold a
// chat, and whether another one has written there afterwards.
func (p *pair) watch() {
	p.Helper()
	if _, err := p.db.SQL().ExecContext(p.Context(), `
		CREATE SCHEMA watch;
		CREATE TABLE watch.writer (what text PRIMARY KEY, who text NOT NULL);
		CREATE TABLE watch.stale (what text NOT NULL, who text NOT NULL, whose text NOT NULL);
		CREATE TABLE watch.takeover (chat text NOT NULL);
		CREATE FUNCTION watch.begins(which text) RETURNS void LANGUAGE sql AS $$
			INSERT INTO watch.writer VALUES (which, current_setting('application_name'))
			ON CONFLICT (what) DO UPDATE SET who = excluded.who
		$$;
		CREATE FUNCTION watch.writes(which text) RETURNS void LANGUAGE sql AS $$
			INSERT INTO watch.stale SELECT what, current_setting('application_name'), who FROM watch.writer
			WHERE what = which AND who <> current_setting('application_name')
		$$;
		CREATE FUNCTION watch.lease() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF NEW.token <> OLD.token THEN PERFORM watch.begins('session ' || NEW.id); END IF;
			RETURN NULL;
		END $$;
		CREATE FUNCTION watch.record() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			PERFORM watch.writes('session ' || NEW.session);
			RETURN NULL;
		END $$;
		CREATE FUNCTION watch.chat() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF NEW.holder <> OLD.holder THEN
				PERFORM watch.begins('chat ' || NEW.id);
				IF OLD.accepted > OLD.settled THEN INSERT INTO watch.takeover VALUES (NEW.id); END IF;
			ELSE
				PERFORM watch.writes('chat ' || NEW.id);
			END IF;
			RETURN NULL;
		END $$;
		CREATE TRIGGER watch AFTER UPDATE ON burin.sessions FOR EACH ROW EXECUTE FUNCTION watch.lease();
		CREATE TRIGGER watch AFTER INSERT OR UPDATE ON burin.records FOR EACH ROW EXECUTE FUNCTION watch.record();
		CREATE TRIGGER watch AFTER UPDATE OF holder, accepted, settled ON burin_server.chats FOR EACH ROW EXECUTE FUNCTION watch.chat();`); err != nil {
		p.Fatal(err)
	}
}

// fair checks that no server has written where another one did already, and how often the model was
// asked: twice for each turn, and once more at most where a turn was taken over.
func (c *crowd) fair() {
	c.Helper()
	rows, err := c.db.SQL().QueryContext(c.Context(), `SELECT what, who, whose FROM watch.stale`)
	if err != nil {
		c.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var what, who, whose string
		if err := rows.Scan(&what, &who, &whose); err != nil {
			c.Fatal(err)
		}
		c.Errorf("%s has written to %s, which is %s's", who, what, whose)
	}
	if rows.Err() != nil {
		c.Fatal(rows.Err())
	}
	turns, requests, takeovers := 0, 0, 0
	for i, id := range c.ids {
		var taken int
		if err := c.db.SQL().QueryRowContext(c.Context(), `SELECT count(*) FROM watch.takeover WHERE chat = $1`, id).Scan(&taken); err != nil {
			c.Fatal(err)
		}
		asked, n := 0, int(c.turns[i].Load())
		for k := range n {
			if times, ok := c.asked.Load(fmt.Sprintf("turn %d %d", i, k)); ok {
				asked += int(times.(*atomic.Int32).Load())
			}
		}
		if asked < 2*n || asked > 2*n+taken {
			c.Errorf("chat %d: the model was asked %d times for %d turns, which were taken over %d times", i, asked, n, taken)
		}
		turns, requests, takeovers = turns+n, requests+asked, takeovers+taken
	}
	var me struct{ Used struct{ Requests int } }
	if data := c.ask(http.StatusOK, "GET", "/v1/me", nil); json.Unmarshal(data, &me) != nil || me.Used.Requests < 2*turns-takeovers || me.Used.Requests > requests {
		c.Errorf("%d requests are in the account, and the model had %d for %d turns, which were taken over %d times", me.Used.Requests, requests, turns, takeovers)
	}
}

func (c *crowd) figures() string {
	turns, requests, most := int32(0), int32(0), int32(0)
	for i := range c.turns {
		turns += c.turns[i].Load()
	}
	c.asked.Range(func(_, n any) bool {
		requests, most = requests+n.(*atomic.Int32).Load(), max(most, n.(*atomic.Int32).Load())
		return true
	})
	return fmt.Sprintf("%d turns, %d requests (2 a turn; at most %d)", turns, requests, most)
}

// findsAll waits until both servers find the answers to all turns.
func (p *pair) findsAll(turns int) {
	p.Helper()
	var found [2]struct {
		Total  int
		Behind bool
	}
	for late := time.Now().Add(time.Minute); ; p.rest() {
		for i := range found {
			r, err := http.NewRequestWithContext(p.Context(), "GET", p.url(i)+"/v1/search?q=%22the+answer+to+turn%22", nil)
			if err != nil {
				p.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+testToken)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				p.Fatal(err)
			}
			found[i].Behind = false
			err = json.NewDecoder(answer.Body).Decode(&found[i])
			answer.Body.Close()
			if err != nil {
				p.Fatal(err)
			}
		}
		if found[0] == found[1] && found[0].Total >= turns && !found[0].Behind { // an answer that was cut off is found, too
			return
		}
		if time.Now().After(late) {
			p.Errorf("of %d answers the servers find %+v", turns, found)
			return
		}
	}
}

func (p *pair) signal(i int, s os.Signal) {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.running[i].Process.Signal(s); err != nil {
		p.Fatal(err)
	}
}

// settled waits until nothing is under way.
func (p *pair) settled(ids []string) {
	for _, id := range ids {
		for late := time.Now().Add(2 * time.Minute); ; {
			var open struct{ Facts struct{ Working bool } }
			if err := json.Unmarshal(p.ask(http.StatusOK, "GET", "/v1/sessions/"+id, nil), &open); err == nil && !open.Facts.Working {
				break
			}
			if time.Now().After(late) {
				p.Fatalf("chat %s never ends", id)
			}
			p.rest()
		}
	}
	for late := time.Now().Add(time.Minute); ; p.rest() {
		open, err := p.store.Unsettled(p.Context())
		if err == nil && len(open) == 0 {
			return
		}
		if time.Now().After(late) {
			p.Errorf("not settled: %v, %v", open, err)
			return
		}
	}
}

// verify holds the transcript of a chat against what was accepted, at least some turns and at most others, and what
// a client has heard of.
func (p *pair) verify(chat int, id string, turns, most int, w *heard) {
	p.Helper()
	c, err := p.store.Chat(p.Context(), ownerPerson, id)
	if err != nil {
		p.Fatal(err)
	}
	l, err := p.store.View(p.Context(), ownerPerson, c, transcript.Options{})
	if err != nil {
		p.Fatal(err)
	}
	defer l.Close()
	got, err := l.Context(l.Leaf())
	if err != nil {
		p.Fatal(err)
	}
	asked, answered := map[string]int{}, map[string]int{}
	count := func(m *llm.Message) {
		text := strings.TrimSpace(m.Text())
		if m.Role == llm.RoleUser {
			asked[turnWords.FindString(text)]++
		}
		if rest, ok := strings.CutPrefix(text, "The answer to "); ok && m.Role == llm.RoleAssistant && m.StopReason == llm.StopEnd {
			words, _, _ := strings.Cut(rest, " is 42")
			answered[words]++
		}
	}
	for i := range got.Messages {
		count(&got.Messages[i])
	}
	here := [2]map[string]int{maps.Clone(asked), maps.Clone(answered)}
	clear(asked)
	clear(answered)
	kept := map[string]bool{}
	for _, n := range l.Nodes() { // of all branches
		kept[n.ID] = true
		if n.Type != transcript.TypeMessage {
			continue
		}
		e, err := l.Entry(n.ID)
		if err != nil {
			p.Fatal(err)
		}
		count(e.Message)
	}
	if !maps.Equal(asked, here[0]) || !maps.Equal(answered, here[1]) || len(asked) != len(answered) || len(asked) < turns || len(asked) > most {
		p.Errorf("chat %d: of %d to %d turns, %d were asked and %d answered, and some of these on other branches: %d and %d on the last one", chat, turns, most, len(asked), len(answered), len(here[0]), len(here[1]))
	}
	defer func() {
		if p.Failed() {
			for _, n := range l.Nodes() {
				e, err := l.Entry(n.ID)
				if err == nil && e.Message != nil {
					p.Logf("%d %s parent %d %s %q stop %s err %v", chat, n.ID, n.Parent, e.Message.Role, e.Message.Text(), e.Message.StopReason, e.Message.Error)
				} else if err == nil {
					p.Logf("%d %s parent %d %s %s %s", chat, n.ID, n.Parent, n.Type, n.Name, e.Data)
				}
			}
		}
	}()
	for n := range len(asked) {
		words := fmt.Sprintf("turn %d %d", chat, n)
		if asked[words] != 1 || answered[words] != 1 {
			p.Errorf("%q was asked %d times and answered %d times", words, asked[words], answered[words])
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[string]bool{}
	for _, e := range w.entries {
		if seen[e] {
			p.Errorf("chat %d: a client heard of entry %s twice", chat, e)
		}
		seen[e] = true
		if !kept[e] {
			p.Errorf("chat %d: a client heard of entry %s, which is not there, by %s", chat, e, w.source[e])
		}
	}
	if len(w.again) > 0 {
		p.Errorf("chat %d: a client got events again: %v", chat, w.again)
	}
}

// heardAll waits until a client has heard of all messages.
func (p *pair) heardAll(chat string, w *heard) {
	p.Helper()
	all := p.nodes(chat)
	for late := time.Now().Add(time.Minute); ; p.rest() {
		w.mu.Lock()
		missing := slices.IndexFunc(all, func(n nodeOf) bool { return n.Type == "message" && !slices.Contains(w.entries, n.ID) })
		w.mu.Unlock()
		if missing < 0 {
			return
		}
		if time.Now().After(late) {
			p.Errorf("chat %s: a client missed entry %s", chat, all[missing].ID)
			return
		}
	}
}

// at asks one of the servers.
func (p *pair) at(i int, verb, path string, with any) (status int, said string) {
	p.Helper()
	body, err := json.Marshal(with)
	if err != nil {
		p.Fatal(err)
	}
	r, err := http.NewRequestWithContext(p.Context(), verb, p.url(i)+path, strings.NewReader(string(body)))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		p.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		p.Fatal(err)
	}
	return answer.StatusCode, string(data)
}

// Two servers count the turns and the money of a person together.
func TestTwoServersLimits(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	p := newPair(t, pgtest.Start(t, pgtest.Options{}).Database(t), "address: http://localhost", "", "")
	quota := func(is map[string]any) {
		t.Helper()
		if status, said := p.at(0, "POST", "/v1/admin/people/"+ownerPerson, map[string]any{"quota": is}); status != http.StatusOK {
			t.Fatal(status, said)
		}
	}
	chats := [2]string{}
	for i := range chats {
		var begun struct{ Chat struct{ ID string } }
		if status, said := p.at(i, "POST", "/v1/chats", map[string]any{}); status != http.StatusCreated || json.Unmarshal([]byte(said), &begun) != nil {
			t.Fatal(status, said)
		}
		chats[i] = begun.Chat.ID
	}
	submit := func(i int, text string) (int, string) {
		t.Helper()
		return p.at(i, "POST", "/v1/sessions/"+chats[i]+"/submit", toldTo(text, text))
	}
	// A third server runs a turn.
	third, err := p.store.NewChat(t.Context(), ownerPerson, "", project.About{})
	if err == nil {
		err = p.store.Beat(t.Context(), "third", "http://127.0.0.1:1")
	}
	if err == nil {
		_, err = p.store.Hold(t.Context(), third.ID, "", "third/1")
	}
	if err != nil {
		t.Fatal(err)
	}
	n, err := p.store.Accept(t.Context(), third.ID, "third/1", nil)
	if err != nil {
		t.Fatal(err)
	}
	quota(map[string]any{"turns": 1})
	for i := range chats {
		if status, said := submit(i, fmt.Sprintf("turn %d 0", i)); status != http.StatusTooManyRequests || !strings.Contains(said, `"code":"turns"`) {
			t.Errorf("server %d: %d %s", i, status, said)
		}
	}
	for _, path := range []string{"/v1/chats/" + third.ID, "/v1/projects/" + third.Project} {
		if status, said := p.at(0, "DELETE", path, map[string]any{}); status != http.StatusConflict {
			t.Errorf("what works at another server is deleted: %d %s", status, said)
		}
	}
	if err := p.store.Settle(t.Context(), third.ID, "third/1", n, nil); err != nil {
		t.Fatal(err)
	}
	if status, said := p.at(0, "DELETE", "/v1/chats/"+third.ID, map[string]any{}); status != http.StatusOK {
		t.Errorf("what is done is not deleted: %d %s", status, said)
	}
	quota(map[string]any{"budget": 1e-9})
	if status, said := submit(0, "turn 0 0"); status != http.StatusOK {
		t.Fatal(status, said)
	}
	p.ask(http.StatusOK, "POST", "/v1/sessions/"+chats[0]+"/wait", map[string]any{"id": "turn 0 0"})
	// Server 0 has spent it, and server 1 refuses; through the other one, too.
	if status, said := submit(1, "turn 1 0"); status != http.StatusPaymentRequired || !strings.Contains(said, `"code":"budget"`) {
		t.Errorf("%d %s", status, said)
	}
	chats[0], chats[1] = chats[1], chats[0]
	for i := range chats {
		if status, said := submit(i, fmt.Sprintf("turn %d 1", i)); status != http.StatusPaymentRequired || !strings.Contains(said, `"code":"budget"`) || !strings.Contains(said, "ask an admin") {
			t.Errorf("through server %d: %d %s", i, status, said)
		}
	}
	var me struct {
		Used struct {
			Requests int
			Cost     float64
		}
	}
	if _, said := p.at(1, "GET", "/v1/me", nil); json.Unmarshal([]byte(said), &me) != nil || me.Used.Requests != 1 || me.Used.Cost == 0 {
		t.Errorf("used %s", said)
	}
	// A failure of the database at the other server is the server's, too, and only its log says more.
	quota(map[string]any{})
	if _, err := p.db.SQL().ExecContext(t.Context(), `
		CREATE FUNCTION public.fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the disk is full'; END $$;
		CREATE TRIGGER fails BEFORE UPDATE OF accepted ON burin_server.chats FOR EACH ROW EXECUTE FUNCTION public.fails();`); err != nil {
		t.Fatal(err)
	}
	for i := range chats {
		if status, said := submit(i, fmt.Sprintf("turn %d 2", i)); status != http.StatusInternalServerError || strings.Contains(said, "disk") || !strings.Contains(said, "burin serve --check") {
			t.Errorf("through server %d: %d %s", i, status, said)
		}
	}
	for i := range p.cmds {
		p.kill(i)
		if said := p.said[i].String(); !strings.Contains(said, "the disk is full") || !strings.Contains(said, `"msg":"attach"`) {
			t.Errorf("the log of server %d: %s", i, said)
		}
	}
}

// A turn of somebody whose keys are locked waits for them when its server has ended or died, and goes on where they unlock them.
func TestTwoServersLocked(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	p := newPair(t, pgtest.Start(t, pgtest.Options{}).Database(t), "address: http://localhost", "", "")
	at := func(i int) *httpClient {
		return &httpClient{t: t, url: p.url(i), cmd: p.running[i], spec: map[string]any{}}
	}
	link := strings.TrimSpace(run(t, p.cmds[0], "admin", "invite", "--role", "member", "--url", p.url(0)))
	ann := asker{name: "ann", cookie: at(0).signIn("/v1/join", map[string]string{"code": link[strings.LastIndexByte(link, '/')+1:], "name": "ann", "password": personPassword})}
	ann.does(at(0), http.StatusOK, "POST", "/v1/me/keys", map[string]any{"mode": "own", "password": personPassword}, nil)
	chat := ann.chat(at(0))
	id := strings.TrimPrefix(chat, "/v1/sessions/")
	ann.does(at(0), http.StatusOK, "POST", chat+"/submit", toldTo("1", "turn 0 0"), nil)
	if pacetest.Long(true, false, false) { // its lease ends at once
		p.signal(0, syscall.SIGTERM)
		_ = p.running[0].Wait()
	} else {
		p.kill(0)
	}
	open, err := p.store.Unsettled(t.Context())
	if _, ok := open[id]; err != nil || !ok {
		t.Fatalf("unsettled %v, %v", open, err)
	}
	ann.refused(at(1), http.StatusLocked, "locked", "GET", "/v1/chats/"+id, nil)
	ann.does(at(1), http.StatusOK, "POST", "/v1/me/unlock", map[string]any{"password": personPassword}, nil)
	for late := time.Now().Add(time.Minute); ; p.rest() {
		if open, err := p.store.Unsettled(t.Context()); err == nil && len(open) == 0 {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("not settled: %v", open)
		}
	}
	if status, said := ann.ask(at(1), "GET", "/v1/me/export", ""); status != http.StatusOK || !strings.HasPrefix(said, "PK") {
		t.Errorf("%d", status)
	}
	_, said := ann.ask(at(1), "POST", chat+"/nodes", "{}")
	if strings.Count(said, `"role":"assistant"`) != 2 { // the call, and the answer
		t.Errorf("the chat is %s", said)
	}
}

// A member who is removed at one server loses the project at the other, where a turn of theirs runs: it ends, and the chat stays theirs.
func TestTwoServersMembers(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	p := newPair(t, pgtest.Start(t, pgtest.Options{}).Database(t), "address: http://localhost", "", "")
	at := func(i int) *httpClient {
		return &httpClient{t: t, url: p.url(i), cmd: p.running[i]}
	}
	join := func(name string) asker {
		link := strings.TrimSpace(run(t, p.cmds[0], "admin", "invite", "--role", "member", "--url", p.url(0)))
		return asker{name: name, cookie: at(0).signIn("/v1/join", map[string]string{"code": link[strings.LastIndexByte(link, '/')+1:], "name": name, "password": personPassword})}
	}
	ann, bob := join("ann"), join("bob")
	var made struct{ ID string }
	ann.does(at(0), http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Zoo"}, &made)
	ann.does(at(0), http.StatusCreated, "PUT", "/v1/projects/"+made.ID+"/file?path=/a.txt", "okapi", nil)
	ann.does(at(0), http.StatusOK, "PUT", "/v1/projects/"+made.ID+"/members/bob", map[string]any{"right": "write"}, nil)
	chat := bob.begins(at(1), made.ID)
	bob.does(at(1), http.StatusOK, "POST", "/v1/sessions/"+chat+"/submit", toldTo("1", "turn 0 0"), nil)
	bob.does(at(1), http.StatusOK, "PUT", "/v1/projects/"+made.ID+"/file?path=/a.txt", "kudu", nil)
	ann.does(at(0), http.StatusOK, "DELETE", "/v1/projects/"+made.ID+"/members/bob", nil, nil)
	bob.refused(at(1), http.StatusNotFound, "", "GET", "/v1/projects/"+made.ID+"/file?path=/a.txt", nil)
	if holder, err := p.store.Holder(t.Context(), chat); err != nil || holder != "" {
		t.Errorf("it is held by %q, %v", holder, err)
	}
	// The other server lets it go, so that this one can have it.
	bob.does(at(0), http.StatusOK, "POST", "/v1/sessions/"+chat+"/submit", toldTo("2", "turn 0 0"), nil)
	bob.rested(at(0))
	var is struct{ Project string }
	bob.does(at(0), http.StatusOK, "GET", "/v1/chats/"+chat, nil, &is)
	if is.Project == made.ID {
		t.Error("the chat is in the project")
	}

	// A chat that is moved at one server leaves its project at the other one, too.
	bob.does(at(1), http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Mine", "instructions": "Say quagga."}, &made)
	bob.does(at(1), http.StatusOK, "PATCH", "/v1/chats/"+chat, map[string]any{"project": made.ID}, nil)
	bob.does(at(1), http.StatusOK, "POST", "/v1/sessions/"+chat+"/submit", toldTo("3", "turn 0 1"), nil)
	bob.rested(at(1))
	if all := p.model.Requests(); !strings.Contains(all[len(all)-1].System, "Say quagga.") {
		t.Errorf("the model heard\n%s", all[len(all)-1].System)
	}
}
