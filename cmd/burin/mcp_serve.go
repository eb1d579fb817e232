package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/mode/mcp"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
)

// mcpToken is the variable with the token of burin mcp serve --http.
const mcpToken = "BURIN_MCP_TOKEN"

func mcpServeCommand(p *program) *cobra.Command {
	var a askFlags
	var address string
	cmd := &cobra.Command{
		Use: "serve", Short: "Offer burin's sessions to programs that speak MCP", Args: arguments(0, 0),
		Long: `Be an MCP server for this folder, on standard input and output. Its tools are run_task, which
works on a prompt as burin -p does, list_sessions and read_session. Nobody is asked: what
would be a question is refused, so say with --approval and --allow what may run.

  burin mcp serve --approval auto-edit --allow 'bash(go test:*)'
  burin mcp serve --http 127.0.0.1:8977

Over HTTP, clients send the token of BURIN_MCP_TOKEN, or else the one that is printed.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveMCP(cmd.Context(), p, a, address) },
	}
	a.register(cmd.Flags())
	cmd.Flags().VisitAll(func(f *pflag.Flag) { // those that matter here; burin help flags has all
		f.Hidden = !slices.Contains([]string{"approval", "allow", "deny", "model", "max-cost"}, f.Name)
	})
	cmd.Flags().StringVar(&address, "http", "", "serve HTTP at this address of this machine, such as 127.0.0.1:8977")
	return cmd
}

// Limits of tasks.
const (
	maxTasks = 4 // that run at a time, for all clients
	maxDepth = 3 // burins, each an MCP server of the one above; the last one begins no task
)

// mcpServer is what burin mcp serve offers.
type mcpServer struct {
	host    *host.Host
	program *program
	ask     askFlags
	dir     string
	running chan struct{}
}

func serveMCP(ctx context.Context, p *program, a askFlags, address string) error {
	for flag, given := range map[string]bool{"--print": a.print, "--steps": a.steps, "--json-schema": a.schema != "", "--continue": a.goOn, "--resume": a.resume != "", "--session": a.session != ""} {
		if given {
			return usage("%s is not for burin mcp serve, whose clients choose the session and the prompt", flag)
		}
	}
	if err := a.check(); err != nil {
		return err
	}
	dir, err := archive.WorkDir()
	if err != nil {
		return err
	}
	p.sealing.AskWith(func(context.Context, string) (string, error) {
		return "", errors.New("burin mcp serve can't ask for a pass phrase: set BURIN_SESSION_PASSPHRASE")
	})
	h, err := p.host(&a)
	if err != nil {
		return err
	}
	defer p.closeHost(ctx, h)
	m := &mcpServer{host: h, program: p, ask: a, dir: dir, running: make(chan struct{}, maxTasks)}
	s := &mcp.Server{
		Version: version(), Tools: m.tools(),
		Instructions: "burin is a coding agent that works in the folder " + dir + ". run_task gives it a task there and waits for the answer. It asks no questions.",
	}
	if address == "" {
		return s.Serve(ctx, interruptible(ctx, p.in), p.out)
	}
	return listenMCP(ctx, p, s, address)
}

// listenMCP serves over HTTP until ctx ends.
func listenMCP(ctx context.Context, p *program, s *mcp.Server, address string) error {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return usage("--http: %q is not an address such as 127.0.0.1:8977", address)
	}
	if ip, err := netip.ParseAddr(name); name != "localhost" && (err != nil || !ip.IsLoopback()) {
		return usage("--http: %s is not an address of this machine only; 127.0.0.1 is", name)
	}
	token := p.getenv(mcpToken)
	switch {
	case token == "":
		token = rand.Text()
		fmt.Fprintf(p.err, "token: %s\n", token)
	case len(token) < 16:
		return usage("%s needs at least 16 characters", mcpToken)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("serve at %s: %w", address, err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	srv := &http.Server{
		Handler: s.Handler(token), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	fmt.Fprintf(p.err, "serving at http://%s/mcp\n", l.Addr())
	defer context.AfterFunc(ctx, func() {
		end, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer done()
		_ = srv.Shutdown(end) // its requests end with ctx
	})()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve at %s: %w", address, err)
	}
	return nil
}

func (m *mcpServer) tools() []mcp.Tool {
	return []mcp.Tool{
		{
			Name: "run_task", Title: "Run a task",
			Description: "Gives burin, a coding agent, a task in its folder, and waits for its answer. It reads and changes files and runs commands as far as its user has allowed; " +
				"the result says what was refused. It knows only what the prompt says, and with session what was said there before.",
			Schema: json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string","description":"the task, with all that burin needs to know"},"session":{"type":"string","description":"id of a session to continue; default is a new one"}},"required":["prompt"]}`),
			Run:    withArguments(m.runTask),
		},
		{
			Name: "list_sessions", Title: "List sessions", ReadOnly: true,
			Description: "Lists burin's sessions of its folder, newest first.",
			Schema:      json.RawMessage(`{"type":"object","properties":{"limit":{"type":"integer","minimum":1,"maximum":200,"description":"default 20"}}}`),
			Run:         withArguments(m.listSessions),
		},
		{
			Name: "read_session", Title: "Read a session", ReadOnly: true,
			Description: "Gives what was said and done in a session of the folder, at most 50 KB at a time.",
			Schema:      json.RawMessage(`{"type":"object","properties":{"session":{"type":"string","description":"its id, or the beginning of it"},"offset":{"type":"integer","minimum":0,"description":"bytes to skip; default 0"}},"required":["session"]}`),
			Run:         withArguments(m.readSession),
		},
	}
}

// withArguments reads the arguments of a tool into their type.
func withArguments[T any](run func(context.Context, T, func(string)) (mcp.Result, error)) func(context.Context, json.RawMessage, func(string)) (mcp.Result, error) {
	return func(ctx context.Context, raw json.RawMessage, tell func(string)) (mcp.Result, error) {
		var args T
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&args); err != nil {
			return mcp.Result{}, fmt.Errorf("arguments: %s", strings.TrimPrefix(err.Error(), "json: "))
		}
		return run(ctx, args, tell)
	}
}

type taskArgs struct {
	Prompt  string `json:"prompt"`
	Session string `json:"session"`
}

// taskDone is what comes of a task, for programs.
type taskDone struct {
	Session string   `json:"session"`
	Reason  string   `json:"reason"`
	Refused []string `json:"refused,omitempty"`
}

// runTask works on a prompt like burin -p.
func (m *mcpServer) runTask(ctx context.Context, args taskArgs, tell func(string)) (mcp.Result, error) {
	none := mcp.Result{}
	if strings.TrimSpace(args.Prompt) == "" {
		return none, errors.New("the prompt is empty")
	}
	if n := host.ServerDepth(m.program.getenv); n >= maxDepth {
		return none, fmt.Errorf("%d burins wait for each other already: this one begins no task", n)
	}
	select {
	case m.running <- struct{}{}:
		defer func() { <-m.running }()
	default:
		return none, fmt.Errorf("%s run already: wait for one", prose.Count(maxTasks, "task"))
	}
	o := m.ask.wish()
	if args.Session != "" {
		found, err := m.find(ctx, args.Session)
		if err != nil {
			return none, err
		}
		o.Resume = found.Path
	}
	o.Desk = session.NewDesk(session.DeskOptions{}) // nobody is there, and nothing waits
	var answer bytes.Buffer
	printer := print.New(print.Options{Mode: print.Text, Out: &answer, Own: ownCommands(m.host, m.ask), Warn: tell})
	o.Emit = func(e session.Event) {
		printer.Event(e)
		if e.Type == agent.ToolStart {
			tell(callWords(e))
		}
	}
	var mu sync.Mutex
	var refused []string
	o.Refused = func(err error) {
		mu.Lock()
		defer mu.Unlock()
		refused = append(refused, prose.Short(prose.Inline(err.Error()), 500))
	}
	s, err := m.host.Open(ctx, o)
	if errors.Is(err, transcript.ErrLocked) {
		return none, errors.New("the session is open in another burin: close it there, or leave session out")
	}
	if err != nil {
		return none, err
	}
	face := owner.Place{Data: m.host.Paths().Data, Getenv: m.program.getenv}.Listen(s, "mcp", false)
	outcome, err := printer.Run(ctx, face, llm.UserText(args.Prompt))
	done := taskDone{Session: face.Facts().ID, Reason: string(outcome.Reason)}
	if cerr := face.Close(); cerr != nil {
		m.program.warn(words.Error(cerr))
	}
	err = m.program.ended(outcome, err, nil)
	mu.Lock()
	defer mu.Unlock()
	done.Refused = refused
	out := mcp.Result{Text: strings.TrimSpace(answer.String()), Structured: done, Failed: err != nil}
	note := func(text string) { out.Text = strings.TrimSpace(out.Text + "\n\n" + text) }
	if err != nil {
		note("[" + words.Error(err) + "]")
	}
	for _, r := range refused {
		note("[refused: " + r + "]")
	}
	note("[session " + done.Session + "]")
	return out, nil
}

// callWords say which call begins.
func callWords(e session.Event) string {
	return cmp.Or(e.Label, e.Call.Name) + ": " + prose.Short(prose.Inline(string(e.Call.Arguments)), 150)
}

// find finds a session of the folder by its id or the beginning of it.
func (m *mcpServer) find(ctx context.Context, id string) (found index.Info, err error) {
	a, err := m.host.Archive(nil)
	if err != nil {
		return found, err
	}
	all, err := a.List(ctx, m.dir, 0)
	if err != nil {
		return found, err
	}
	n := 0
	for _, s := range all {
		if s.ID == id {
			return s, nil
		}
		if id != "" && strings.HasPrefix(s.ID, id) {
			found, n = s, n+1
		}
	}
	switch n {
	case 0:
		return found, fmt.Errorf("no session %s in this folder: list_sessions shows them", prose.Short(prose.Inline(id), 60))
	case 1:
		return found, nil
	}
	return found, fmt.Errorf("%d sessions begin with %s: give more of the id", n, prose.Short(prose.Inline(id), 60))
}

type listArgs struct {
	Limit int `json:"limit"`
}

// listedSession is a session for programs.
type listedSession struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Modified time.Time `json:"modified"`
	Sealed   bool      `json:"sealed,omitempty"`
}

func (m *mcpServer) listSessions(ctx context.Context, args listArgs, _ func(string)) (mcp.Result, error) {
	if args.Limit == 0 {
		args.Limit = 20
	}
	a, err := m.host.Archive(nil)
	if err != nil {
		return mcp.Result{}, err
	}
	all, err := a.List(ctx, m.dir, min(max(args.Limit, 1), 200))
	if err != nil {
		return mcp.Result{}, err
	}
	list := make([]listedSession, len(all))
	var b strings.Builder
	for i, s := range all {
		list[i] = listedSession{ID: s.ID, Title: prose.Row(s.Title, 200), Modified: s.Modified, Sealed: s.Sealed}
		fmt.Fprintf(&b, "%s  %s  %s\n", s.ID, s.Modified.UTC().Format(time.RFC3339), list[i].Title)
	}
	if len(all) == 0 {
		b.WriteString("no sessions of this folder yet")
	}
	return mcp.Result{Text: strings.TrimSpace(b.String()), Structured: map[string]any{"sessions": list}}, nil
}

type readArgs struct {
	Session string `json:"session"`
	Offset  int    `json:"offset"`
}

// maxRead is how much of a session is given at once, in bytes.
const maxRead = 50 << 10

func (m *mcpServer) readSession(ctx context.Context, args readArgs, _ func(string)) (mcp.Result, error) {
	none := mcp.Result{}
	found, err := m.find(ctx, args.Session)
	if err != nil {
		return none, err
	}
	a, err := m.host.Archive(nil)
	if err != nil {
		return none, err
	}
	_, l, err := a.Open(ctx, found.Path)
	if err != nil {
		return none, err
	}
	defer l.Close()
	var text bytes.Buffer
	if err := print.Show(&text, uninterrupted(ctx, branch(l)), false); err != nil {
		return none, err
	}
	if ctx.Err() != nil {
		return none, ctx.Err()
	}
	all := text.String()
	if args.Offset < 0 || args.Offset > len(all) {
		return none, fmt.Errorf("offset: the session has %d bytes", len(all))
	}
	rest := strings.ToValidUTF8(all[args.Offset:], "")
	part := prose.Head(rest, maxRead)
	if len(part) < len(rest) {
		part += fmt.Sprintf("\n[%d of %d bytes; continue with offset %d]", args.Offset+len(part), len(all), args.Offset+len(part))
	}
	return mcp.Result{Text: part}, nil
}
