package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/prose"
)

// capabilities is what a server can do, as far as burin cares.
type capabilities struct {
	PositionEncoding encoding        `json:"positionEncoding"`
	TextDocumentSync json.RawMessage `json:"textDocumentSync"`
	Definition       any             `json:"definitionProvider"`
	TypeDefinition   any             `json:"typeDefinitionProvider"`
	Implementation   any             `json:"implementationProvider"`
	References       any             `json:"referencesProvider"`
	Hover            any             `json:"hoverProvider"`
	Signature        any             `json:"signatureHelpProvider"`
	DocumentSymbol   any             `json:"documentSymbolProvider"`
	WorkspaceSymbol  any             `json:"workspaceSymbolProvider"`
	Rename           any             `json:"renameProvider"`
	CodeAction       any             `json:"codeActionProvider"`
	CallHierarchy    any             `json:"callHierarchyProvider"`
	TypeHierarchy    any             `json:"typeHierarchyProvider"`
	Formatting       any             `json:"documentFormattingProvider"`
	InlayHint        any             `json:"inlayHintProvider"`
	Diagnostic       any             `json:"diagnosticProvider"`
	Workspace        struct {
		FileOperations struct {
			WillRename any `json:"willRename"`
			DidRename  any `json:"didRename"`
		} `json:"fileOperations"`
	} `json:"workspace"`
}

// has reports whether a capability, which is a boolean or options, is there.
func has(capability any) bool {
	on, isBool := capability.(bool)
	return capability != nil && (!isBool || on)
}

// document is an open document.
type document struct {
	version int
	data    []byte
	used    uint64
}

// published are the diagnostics of a file.
type published struct {
	list    []wireDiagnostic
	version int    // of the document; -1: the server did not say
	seq     uint64 // grows with each publication
}

type wireDiagnostic struct {
	Range    wireRange       `json:"range"`
	Severity Severity        `json:"severity"`
	Code     json.RawMessage `json:"code"`
	Source   string          `json:"source"`
	Message  json.RawMessage `json:"message"`
	raw      json.RawMessage
}

func (d *wireDiagnostic) UnmarshalJSON(b []byte) error {
	type plain wireDiagnostic
	if err := json.Unmarshal(b, (*plain)(d)); err != nil {
		return err
	}
	d.raw = slices.Clone(b)
	return nil
}

// client is a running server.
type client struct {
	*conn
	server *Server
	root   string
	cmd    *exec.Cmd
	log    *ending
	ended  chan struct{} // closed when the process has ended
	caps   capabilities
	units  encoding

	mu        sync.Mutex
	docs      map[string]*document
	uses      uint64
	pushed    map[string]*published
	pulled    map[string]*published
	seq       uint64
	last      time.Time     // of the latest publication
	took      time.Duration // from the latest change to what the server thought of it
	news      chan struct{} // closed and replaced at each publication
	progress  map[string]string
	collected []json.RawMessage // edits that the server wants while it runs a command
	commands  int               // commands that run
	seen      map[string]stamp  // files of its types, as they were last
	scanned   time.Time
}

// stamp tells whether a file has changed.
type stamp struct {
	size int64
	time time.Time
}

// ending keeps the end of what is written to it.
type ending struct {
	mu   sync.Mutex
	text []byte
}

func (e *ending) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text = append(e.text, b...)
	if len(e.text) > 2*maxLog {
		e.text = append([]byte(nil), e.text[len(e.text)-maxLog:]...)
	}
	return len(b), nil
}

func (e *ending) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return prose.Clean(strings.TrimSpace(string(e.text[max(0, len(e.text)-maxLog):])), 4)
}

// start starts the program of a server, and introduces burin.
func start(ctx context.Context, s *Server, root, version string, o process.Options) (*client, error) {
	o.Dir = root
	cmd, err := process.Command(o, s.Path, s.Args...)
	if err != nil {
		return nil, err
	}
	c := &client{
		conn: newConn(), server: s, root: root, cmd: cmd, log: new(ending), ended: make(chan struct{}),
		docs: map[string]*document{}, pushed: map[string]*published{}, pulled: map[string]*published{},
		news: make(chan struct{}), progress: map[string]string{}, units: utf16Units,
	}
	c.asked, c.notified = c.answer, c.hear
	cmd.Stderr = c.log
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Path, err)
	}
	go c.write(in)
	go c.follow(out)
	c.scan(true)
	if err := c.introduce(ctx, version); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("it did not answer within %s", s.startTime())
		}
		c.kill(err)
		return nil, c.explain(err)
	}
	return c, nil
}

// follow takes what the server says until it ends.
func (c *client) follow(out io.Reader) {
	_ = c.read(out)     // how it ended says the process
	process.Kill(c.cmd) // what closed its output does not work any more
	err := c.cmd.Wait()
	close(c.ended)
	why := errEnded
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		why = fmt.Errorf("%w (%s)", errEnded, exit)
	}
	c.fail(why)
}

// explain adds the last words of the log to an error.
func (c *client) explain(err error) error {
	return withLastLine(err, c.log.String())
}

// withLastLine adds the last line of a log to an error.
func withLastLine(err error, log string) error {
	if log == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, prose.Short(prose.Inline(log[strings.LastIndexByte(log, '\n')+1:]), 300))
}

// kill ends the process, and waits for its end.
func (c *client) kill(why error) {
	c.fail(why)
	process.Kill(c.cmd)
	<-c.ended
}

// farewell is how long a server may take to end by itself.
const farewell = 300 * time.Millisecond

// close ends the server: at first politely.
func (c *client) close() {
	ctx, stop := context.WithTimeout(context.Background(), farewell)
	defer stop()
	if c.why() == nil && c.call(ctx, "shutdown", nil, nil) == nil {
		c.notify("exit", nil)
		select {
		case <-c.ended:
		case <-ctx.Done():
		}
	}
	c.kill(errClosed)
}

func (c *client) introduce(ctx context.Context, version string) error {
	var hello struct {
		Capabilities capabilities `json:"capabilities"`
	}
	none := map[string]any{"dynamicRegistration": false}
	err := c.call(ctx, "initialize", map[string]any{
		// Servers that are told of a process end when they cannot signal it, as in a sandbox. The
		// guard ends them without that.
		"processId":        nil,
		"clientInfo":       map[string]string{"name": "burin", "version": version},
		"rootPath":         c.root,
		"rootUri":          uriOf(c.root),
		"workspaceFolders": c.folders(),
		"capabilities": map[string]any{
			"general": map[string]any{"positionEncodings": []encoding{utf8Units, utf16Units, utf32Units}},
			"window":  map[string]any{"workDoneProgress": true},
			"workspace": map[string]any{
				"applyEdit": true, "configuration": true, "workspaceFolders": true,
				"workspaceEdit":          map[string]any{"documentChanges": true, "resourceOperations": []string{"create", "rename", "delete"}, "failureHandling": "abort"},
				"didChangeConfiguration": none,
				"didChangeWatchedFiles":  map[string]any{"dynamicRegistration": true, "relativePatternSupport": true},
				"symbol":                 none,
				"executeCommand":         none,
				"fileOperations":         map[string]any{"willRename": true, "didRename": true},
			},
			"textDocument": map[string]any{
				"synchronization":    map[string]any{"didSave": true},
				"publishDiagnostics": map[string]any{"versionSupport": true},
				"diagnostic":         map[string]any{"dynamicRegistration": false, "relatedDocumentSupport": true},
				"definition":         map[string]any{"linkSupport": true},
				"typeDefinition":     map[string]any{"linkSupport": true},
				"implementation":     map[string]any{"linkSupport": true},
				"references":         none,
				"hover":              map[string]any{"contentFormat": []string{"markdown", "plaintext"}},
				"signatureHelp":      map[string]any{"signatureInformation": map[string]any{"documentationFormat": []string{"plaintext"}}},
				"documentSymbol":     map[string]any{"hierarchicalDocumentSymbolSupport": true},
				"rename":             none,
				"formatting":         none,
				"inlayHint":          none,
				"callHierarchy":      none,
				"typeHierarchy":      none,
				"codeAction": map[string]any{
					"dataSupport": true, "resolveSupport": map[string]any{"properties": []string{"edit", "command"}},
					"codeActionLiteralSupport": map[string]any{"codeActionKind": map[string]any{"valueSet": []string{"", "quickfix", "refactor", "refactor.extract", "refactor.inline", "refactor.rewrite", "source", "source.organizeImports", "source.fixAll"}}},
				},
			},
		},
		"initializationOptions": c.server.InitOptions,
	}, &hello)
	if err != nil {
		return err
	}
	c.caps = hello.Capabilities
	if slices.Contains([]encoding{utf8Units, utf32Units}, c.caps.PositionEncoding) {
		c.units = c.caps.PositionEncoding
	}
	c.notify("initialized", struct{}{})
	if len(c.server.Settings) > 0 {
		c.notify("workspace/didChangeConfiguration", map[string]any{"settings": c.server.Settings})
	}
	return nil
}

func (c *client) folders() []map[string]string {
	return []map[string]string{{"uri": uriOf(c.root), "name": filepath.Base(c.root)}}
}

// answer answers what the server asks.
func (c *client) answer(method string, params json.RawMessage) (any, *Error) {
	switch method {
	case "workspace/configuration":
		var p struct {
			Items []struct {
				Section string `json:"section"`
			} `json:"items"`
		}
		_ = json.Unmarshal(params, &p) // then nothing was asked for
		all := make([]any, len(p.Items))
		for i, item := range p.Items {
			all[i] = section(c.server.Settings, item.Section)
		}
		return all, nil
	case "workspace/workspaceFolders":
		return c.folders(), nil
	case "workspace/applyEdit":
		var p struct {
			Edit json.RawMessage `json:"edit"`
		}
		_ = json.Unmarshal(params, &p)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.commands == 0 || len(c.collected) >= 100 {
			return map[string]any{"applied": false, "failureReason": "burin did not ask for it"}, nil
		}
		c.collected = append(c.collected, p.Edit)
		return map[string]any{"applied": true}, nil
	case "window/showDocument":
		return map[string]any{"success": false}, nil
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create",
		"window/showMessageRequest", "workspace/codeLens/refresh", "workspace/semanticTokens/refresh",
		"workspace/inlayHint/refresh", "workspace/inlineValue/refresh", "workspace/diagnostic/refresh", "workspace/foldingRange/refresh":
		return nil, nil
	}
	return nil, &Error{Code: methodNotFound, Message: "burin does not support " + prose.Short(prose.Inline(method), 100)}
}

// section is a part of settings, by a name such as "python.analysis".
func section(settings json.RawMessage, name string) any {
	var at any
	if json.Unmarshal(settings, &at) != nil {
		return nil
	}
	if name == "" {
		return at
	}
	for part := range strings.SplitSeq(name, ".") {
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[part]
	}
	return at
}

// hear takes what the server tells.
func (c *client) hear(method string, params json.RawMessage) {
	switch method {
	case "textDocument/publishDiagnostics":
		var p struct {
			URI         string           `json:"uri"`
			Version     *int             `json:"version"`
			Diagnostics []wireDiagnostic `json:"diagnostics"`
		}
		if json.Unmarshal(params, &p) != nil {
			return
		}
		path, err := pathOf(p.URI)
		if err != nil {
			return
		}
		version := -1
		if p.Version != nil {
			version = *p.Version
		}
		c.publish(c.pushed, path, version, p.Diagnostics)
	case "$/progress":
		var p struct {
			Token json.RawMessage `json:"token"`
			Value struct {
				Kind    string `json:"kind"`
				Title   string `json:"title"`
				Message string `json:"message"`
			} `json:"value"`
		}
		if json.Unmarshal(params, &p) != nil {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		token := string(p.Token)
		switch {
		case p.Value.Kind == "end":
			delete(c.progress, token)
		case p.Value.Kind == "begin" && len(c.progress) < 100:
			c.progress[token] = prose.Short(prose.Inline(p.Value.Title), 100)
		}
	case "window/logMessage", "window/showMessage":
		var p struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(params, &p) == nil {
			_, _ = fmt.Fprintln(c.log, p.Message)
		}
	}
}

// publish keeps diagnostics of a file, and wakes those who wait.
func (c *client) publish(where map[string]*published, path string, version int, list []wireDiagnostic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	c.last = time.Now()
	if len(list) > maxOfFile {
		list = slices.Clone(list[:maxOfFile])
	}
	for i := range list {
		if d := &list[i]; len(d.raw) > maxDiagnostic {
			d.raw = nil
			if len(d.Message) > maxDiagnostic {
				d.Message = json.RawMessage(`"a message that is too long to show"`)
			}
		}
	}
	if _, known := where[path]; known || len(where) < maxFiles {
		where[path] = &published{list: list, version: version, seq: c.seq}
	}
	close(c.news)
	c.news = make(chan struct{})
}

// sync makes sure that the server has a document as it is now, and gives its version. fresh says
// that it did not have this one.
func (c *client) sync(path string, data []byte) (version int, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uses++
	if d := c.docs[path]; d != nil {
		d.used = c.uses
		if fresh = string(d.data) != string(data); fresh {
			d.version++
			d.data = data
			c.notify("textDocument/didChange", map[string]any{
				"textDocument":   map[string]any{"uri": uriOf(path), "version": d.version},
				"contentChanges": []map[string]any{{"text": string(data)}},
			})
		}
		return d.version, fresh
	}
	if len(c.docs) >= maxDocuments {
		oldest := ""
		for p, d := range c.docs {
			if oldest == "" || d.used < c.docs[oldest].used {
				oldest = p
			}
		}
		c.forget(oldest)
	}
	c.docs[path] = &document{version: 1, data: data, used: c.uses}
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": uriOf(path), "languageId": languageID(path), "version": 1, "text": string(data),
	}})
	return 1, true
}

// forget closes a document. c.mu is held.
func (c *client) forget(path string) {
	if c.docs[path] == nil {
		return
	}
	delete(c.docs, path)
	c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uriOf(path)}})
}

// saved tells that a document was written.
func (c *client) saved(path string) {
	c.mu.Lock()
	open := c.docs[path] != nil
	c.mu.Unlock()
	if open {
		c.notify("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": uriOf(path)}})
	}
}

// textOf is the text that positions in a file are about.
func (c *client) textOf(path string) *text {
	c.mu.Lock()
	d := c.docs[path]
	c.mu.Unlock()
	if d != nil {
		return newText(d.data)
	}
	data, err := readSmall(path)
	if err != nil {
		return nil
	}
	return newText(data)
}

func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > MaxFile {
		return nil, fmt.Errorf("%s is not a file of at most %d MB", path, MaxFile>>20)
	}
	return os.ReadFile(path)
}

// The kinds of changes of files.
const (
	fileCreated = 1
	fileChanged = 2
	fileDeleted = 3
)

// skipped reports folders in which nobody edits.
func skipped(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "target" || name == "__pycache__"
}

// scan tells the server which files have changed, whoever changed them: a command, a person, git.
// Only files of its types count, and those that mark roots. The first scan only looks.
func (c *client) scan(first bool) {
	now := map[string]stamp{}
	_ = filepath.WalkDir(c.root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case d.IsDir():
			if path != c.root && skipped(d.Name()) {
				return filepath.SkipDir
			}
			return nil
		case len(now) >= maxScanned:
			return filepath.SkipAll
		case !d.Type().IsRegular() || !c.server.Serves(d.Name()) && !slices.Contains(c.server.RootMarkers, d.Name()):
			return nil
		}
		if info, err := d.Info(); err == nil {
			now[path] = stamp{info.Size(), info.ModTime()}
		}
		return nil
	})
	c.mu.Lock()
	before := c.seen
	c.seen, c.scanned = now, time.Now()
	c.mu.Unlock()
	if first {
		return
	}
	type event struct {
		URI  string `json:"uri"`
		Type int    `json:"type"`
	}
	var events []event
	for path, s := range now {
		old, known := before[path]
		switch {
		case !known:
			events = append(events, event{uriOf(path), fileCreated})
		case old != s:
			events = append(events, event{uriOf(path), fileChanged})
			c.reread(path)
		}
	}
	for path := range before {
		if _, ok := now[path]; !ok && len(now) < maxScanned {
			events = append(events, event{uriOf(path), fileDeleted})
			c.mu.Lock()
			c.forget(path)
			delete(c.pushed, path)
			delete(c.pulled, path)
			c.mu.Unlock()
		}
	}
	if len(events) > 0 {
		slices.SortFunc(events, func(a, b event) int { return strings.Compare(a.URI, b.URI) })
		c.notify("workspace/didChangeWatchedFiles", map[string]any{"changes": events})
	}
}

// reread gives the server the new text of an open document.
func (c *client) reread(path string) {
	c.mu.Lock()
	open := c.docs[path] != nil
	c.mu.Unlock()
	if !open {
		return
	}
	if data, err := readSmall(path); err == nil {
		c.sync(path, data)
	}
}

// quiet is how long a server must have said nothing before its diagnostics count as complete.
// One that does not say which version of a document they are for may say so in steps, as the
// TypeScript server does: it is waited for as long as the first one took, up to hesitant.
const (
	quiet    = 120 * time.Millisecond
	hesitant = 400 * time.Millisecond
)

// silence is how long to wait at least for a server that may have nothing to say: the TypeScript
// server, for one, does not repeat that a file has no problems.
const silence = 600 * time.Millisecond

// answered is how complete a server's diagnostics are.
type answered int

const (
	partly answered = iota // it has not said all in time
	silent                 // it says nothing of files that it had nothing to say of before
	wholly
)

// settle waits until the server has said what it thinks of those documents at those versions, and
// then is quiet, or until ctx ends.
func (c *client) settle(ctx context.Context, versions map[string]int, after uint64) answered {
	pull := has(c.caps.Diagnostic)
	if pull {
		for path := range versions {
			if c.pull(ctx, path) != nil {
				return partly
			}
		}
		if ctx.Err() != nil {
			return partly
		}
		return wholly
	}
	began := time.Now()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		c.mu.Lock()
		news, since := c.news, time.Since(c.last)
		complete, numbered, nothing := true, true, len(c.progress) == 0
		for path, version := range versions {
			p := c.pushed[path]
			said := p != nil && p.seq > after && (p.version < 0 || p.version >= version)
			complete = complete && said
			nothing = nothing && p != nil && (said || len(p.list) == 0 && p.version < 0)
			numbered = numbered && p != nil && p.version >= 0
		}
		if complete && c.last.After(began) {
			c.took = c.last.Sub(began)
		}
		enough, still := max(silence, 4*c.took), quiet
		if !numbered {
			still = min(max(quiet, c.took), hesitant)
		}
		c.mu.Unlock()
		wait := time.Hour
		switch {
		case complete && since >= still:
			return wholly
		case complete:
			wait = still - since
		case nothing && time.Since(began) >= enough:
			return silent
		case nothing:
			wait = enough - time.Since(began)
		}
		timer.Reset(wait)
		select {
		case <-news:
		case <-timer.C:
		case <-c.done:
			return partly
		case <-ctx.Done():
			if complete {
				return wholly
			}
			return partly
		}
	}
}

// pull asks for the diagnostics of a file.
func (c *client) pull(ctx context.Context, path string) error {
	type report struct {
		Kind  string           `json:"kind"`
		Items []wireDiagnostic `json:"items"`
	}
	var r struct {
		report
		Related map[string]report `json:"relatedDocuments"`
	}
	if err := c.patient(ctx, "textDocument/diagnostic", map[string]any{"textDocument": map[string]any{"uri": uriOf(path)}}, &r); err != nil {
		return err
	}
	if r.Kind != "unchanged" {
		c.publish(c.pulled, path, -1, r.Items)
	}
	for uri, one := range r.Related {
		if other, err := pathOf(uri); err == nil && one.Kind != "unchanged" {
			c.publish(c.pulled, other, -1, one.Items)
		}
	}
	return nil
}

// patient is a call that is repeated when the server says that something changed meanwhile.
func (c *client) patient(ctx context.Context, method string, params, result any) error {
	var err error
	for range 4 {
		err = c.call(ctx, method, params, result)
		e := (*Error)(nil)
		if !errors.As(err, &e) || e.Code != contentModified && e.Code != serverCancelled {
			return err
		}
		wait := time.NewTimer(100 * time.Millisecond)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return context.Cause(ctx)
		}
	}
	return err
}

// diagnostics are those of all files that the server has said anything of, the worst first in
// each; of paths only, unless there are none.
func (c *client) diagnostics(paths ...string) []Diagnostic {
	c.mu.Lock()
	found := map[string][]wireDiagnostic{}
	for _, where := range []map[string]*published{c.pushed, c.pulled} {
		for path, p := range where {
			if len(p.list) > 0 && (len(paths) == 0 || slices.Contains(paths, path)) {
				found[path] = append(found[path], p.list...)
			}
		}
	}
	c.mu.Unlock()
	var all []Diagnostic
	for path, list := range found {
		t := c.textOf(path)
		for _, w := range list {
			all = append(all, c.diagnostic(path, t, &w))
		}
	}
	sortDiagnostics(all)
	return all
}

// sortDiagnostics sorts by file, the worst first in each.
func sortDiagnostics(all []Diagnostic) {
	slices.SortStableFunc(all, func(a, b Diagnostic) int {
		if a.Path != b.Path {
			return strings.Compare(a.Path, b.Path)
		}
		if a.Severity != b.Severity {
			return int(a.Severity - b.Severity)
		}
		return a.Range.Start.Line - b.Range.Start.Line
	})
}

func (c *client) diagnostic(path string, t *text, w *wireDiagnostic) Diagnostic {
	d := Diagnostic{Path: path, Severity: w.Severity, Source: prose.Short(prose.Inline(w.Source), 60), raw: w.raw}
	if d.Severity < SeverityError || d.Severity > SeverityHint {
		d.Severity = SeverityError
	}
	d.Range = Range{Position{Line: max(w.Range.Start.Line, 0)}, Position{Line: max(w.Range.End.Line, 0)}}
	if t != nil {
		d.Range = t.rangeFrom(c.units, w.Range)
	}
	var message struct{ Value string }
	if json.Unmarshal(w.Message, &d.Message) != nil && json.Unmarshal(w.Message, &message) == nil {
		d.Message = message.Value
	}
	d.Message = prose.Short(prose.Inline(d.Message), maxMessageText)
	if json.Unmarshal(w.Code, &d.Code) != nil {
		d.Code = strings.Trim(string(w.Code), " {}")
		if d.Code == "null" {
			d.Code = ""
		}
	}
	d.Code = prose.Short(prose.Inline(d.Code), 80)
	return d
}
