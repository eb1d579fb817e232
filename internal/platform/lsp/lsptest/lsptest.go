// Package lsptest is a small language server for tests, which behaves badly on demand. A line of a
// document with "ERR" has an error; rename replaces all "old" of a document; hover says what the
// server was told; formatting removes blanks at the ends of lines.
package lsptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Marker is the first argument of the server.
const Marker = "language-server-for-tests"

// Main runs the server if the program was started as it. Tests call it in TestMain, and start their
// own executable with Marker and options: junk, broken, child=FILE, encoding=NAME, pull, workspace, mute, wordy,
// die-once=FILE, die, hang, flood, busy, deaf; unsaid: it does not repeat that a document has no
// problems; later=DURATION: it says later what it thinks of one, with the time when it does.
func Main() {
	if len(os.Args) < 2 || os.Args[1] != Marker {
		return
	}
	(&scripted{out: os.Stdout, options: os.Args[2:], docs: map[string]string{}}).serve(os.Stdin)
	os.Exit(0)
}

// scripted is a server whose options say how it behaves badly.
type scripted struct {
	mu      sync.Mutex // of out
	out     io.Writer
	options []string
	docs    map[string]string
	version int
	root    string
	settled json.RawMessage // what the client said of its configuration
	heard   []string
}

// option is the value of an option "name" or "name=value".
func (s *scripted) option(name string) (value string, ok bool) {
	for _, o := range s.options {
		if n, v, _ := strings.Cut(o, "="); n == name {
			return v, true
		}
	}
	return "", false
}

func (s *scripted) say(v map[string]any) {
	v["jsonrpc"] = "2.0"
	body, _ := json.Marshal(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "Content-Type: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func (s *scripted) serve(in io.Reader) {
	if _, ok := s.option("junk"); ok {
		fmt.Println("welcome: a line that is no message")
	}
	if _, ok := s.option("broken"); ok {
		fmt.Fprintln(os.Stderr, "a library is missing")
		os.Exit(3)
	}
	if _, ok := s.option("wordy"); ok {
		fmt.Fprintln(os.Stderr, "ready to serve")
	}
	if file, ok := s.option("child"); ok {
		cmd := exec.Command("sleep", "600")
		if cmd.Start() == nil {
			_ = os.WriteFile(file, []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
		}
	}
	r := bufio.NewReader(in)
	for {
		length := 0
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			line = strings.TrimSpace(line)
			if line == "" {
				break
			}
			if v, ok := strings.CutPrefix(line, "Content-Length: "); ok {
				length, _ = strconv.Atoi(v)
			}
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
			Result json.RawMessage
		}
		_ = json.Unmarshal(body, &m)
		s.handle(m.ID, m.Method, m.Params, m.Result)
	}
}

func (s *scripted) handle(id json.RawMessage, method string, params, result json.RawMessage) {
	answer := func(v any) { s.say(map[string]any{"id": id, "result": v}) }
	s.heard = append(s.heard, method)
	switch method {
	case "":
		s.settled = result
	case "initialize":
		var hello struct{ RootURI string }
		_ = json.Unmarshal(params, &hello)
		s.root = hello.RootURI
		if _, ok := s.option("deaf"); ok {
			return
		}
		caps := map[string]any{"hoverProvider": true, "renameProvider": map[string]any{}, "textDocumentSync": 1, "codeActionProvider": true, "definitionProvider": true, "documentFormattingProvider": true}
		if e, ok := s.option("encoding"); ok {
			caps["positionEncoding"] = e
		}
		if _, ok := s.option("pull"); ok {
			_, all := s.option("workspace")
			caps["diagnosticProvider"] = map[string]any{"interFileDependencies": false, "workspaceDiagnostics": all}
		}
		answer(map[string]any{"capabilities": caps})
	case "initialized":
		s.say(map[string]any{"id": "c1", "method": "workspace/configuration", "params": map[string]any{"items": []any{map[string]any{"section": "a.b"}, map[string]any{"section": "x"}}}})
	case "textDocument/didOpen", "textDocument/didChange":
		var p struct {
			TextDocument struct {
				URI, Text string
				Version   int
			}
			ContentChanges []struct{ Text string }
		}
		_ = json.Unmarshal(params, &p)
		text := p.TextDocument.Text
		if len(p.ContentChanges) > 0 {
			text = p.ContentChanges[0].Text
		}
		before, known := s.docs[p.TextDocument.URI]
		s.docs[p.TextDocument.URI] = text
		if _, ok := s.option("pull"); ok {
			return
		}
		if _, ok := s.option("mute"); ok {
			return
		}
		said := map[string]any{"uri": p.TextDocument.URI, "version": p.TextDocument.Version, "diagnostics": problems(text)}
		publish := func() { s.say(map[string]any{"method": "textDocument/publishDiagnostics", "params": said}) }
		if _, ok := s.option("unsaid"); ok {
			delete(said, "version")
			if known && len(problems(before)) == 0 && len(problems(text)) == 0 {
				return
			}
		}
		if d, ok := s.option("later"); ok {
			wait, _ := time.ParseDuration(d)
			time.AfterFunc(wait, func() {
				said["diagnostics"] = problems("ERR " + time.Now().Format(time.RFC3339Nano))
				publish()
			})
			return
		}
		publish()
	case "textDocument/diagnostic":
		answer(map[string]any{"kind": "full", "items": problems(s.docs[uriIn(params)])})
	case "workspace/diagnostic":
		answer(map[string]any{"items": []any{
			map[string]any{"uri": s.root + "/all.txt", "kind": "full", "version": nil, "items": problems("ERR of the whole project")},
			map[string]any{"uri": s.root + "/same.txt", "kind": "unchanged", "resultId": "1"},
		}})
	case "textDocument/hover":
		if file, ok := s.option("die-once"); ok {
			if _, err := os.Stat(file); err != nil {
				_ = os.WriteFile(file, nil, 0o600)
				fmt.Fprintln(os.Stderr, "out of luck")
				os.Exit(1)
			}
		}
		if _, ok := s.option("die"); ok {
			os.Exit(1)
		}
		if _, ok := s.option("hang"); ok {
			return
		}
		if _, ok := s.option("flood"); ok {
			fmt.Fprintf(s.out, "Content-Length: %d\r\n\r\n", 40<<20)
			_, _ = io.CopyN(s.out, zeros{}, 40<<20)
			return
		}
		if _, ok := s.option("busy"); ok && s.version < 2 {
			s.version++
			s.say(map[string]any{"id": id, "error": map[string]any{"code": -32801, "message": "content modified"}})
			return
		}
		answer(map[string]any{"contents": map[string]any{"kind": "markdown", "value": fmt.Sprintf("settings %s; heard %s; pid %d", s.settled, strings.Join(s.heard, " "), os.Getpid())}})
	case "textDocument/formatting":
		edits := []any{}
		for n, line := range strings.Split(s.docs[uriIn(params)], "\n") {
			if short := strings.TrimRight(line, " "); short != line {
				edits = append(edits, map[string]any{"range": rangeOf(n, len(short), len(line)), "newText": ""})
			}
		}
		answer(edits)
	case "textDocument/rename":
		uri := uriIn(params)
		edits := []any{}
		for n, line := range strings.Split(s.docs[uri], "\n") {
			if i := strings.Index(line, "old"); i >= 0 {
				at := len(line[:i])
				if e, _ := s.option("encoding"); e != "utf-8" {
					at = 0
					for _, r := range line[:i] {
						at++
						if r > 0xffff && e != "utf-32" {
							at++
						}
					}
				}
				edits = append(edits, map[string]any{"range": rangeOf(n, at, at+3), "newText": "new"})
			}
		}
		answer(map[string]any{"changes": map[string]any{uri: edits}})
	case "shutdown":
		answer(nil)
	case "exit":
		os.Exit(0)
	case "$/cancelRequest":
		fmt.Fprintln(os.Stderr, "canceled")
	default:
		if id != nil {
			answer(nil)
		}
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func uriIn(params json.RawMessage) string {
	var p struct{ TextDocument struct{ URI string } }
	_ = json.Unmarshal(params, &p)
	return p.TextDocument.URI
}

func rangeOf(line, from, to int) map[string]any {
	return map[string]any{"start": map[string]any{"line": line, "character": from}, "end": map[string]any{"line": line, "character": to}}
}

func problems(text string) []any {
	all := []any{}
	for n, line := range strings.Split(text, "\n") {
		if i := strings.Index(line, "ERR"); i >= 0 {
			all = append(all, map[string]any{"range": rangeOf(n, i, i+3), "severity": 1, "code": "E1", "source": "scripted", "message": "an error: " + line})
		}
	}
	return all
}
