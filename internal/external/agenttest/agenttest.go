// Package agenttest is an agent for tests, a process of its own that speaks the Agent Client
// Protocol: it does what a file says, and writes to another one what it was told.
package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	proto "github.com/burin-dev/burin/internal/acp"
)

// Main is the main function of the agent, which is called with the names of the two files.
func Main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: agent SCRIPT LOG")
	}
	data, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	a := &actor{}
	if err := json.Unmarshal(data, &a.script); err != nil {
		return err
	}
	if a.log, err = os.OpenFile(args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return err
	}
	fmt.Fprint(os.Stdout, a.script.Greeting)
	fmt.Fprint(os.Stderr, a.script.Complaint)
	if a.script.Exit != 0 {
		os.Exit(a.script.Exit)
	}
	a.conn = proto.New(os.Stdout, a.take)
	_ = a.conn.Serve(context.Background(), os.Stdin, func() {})
	if a.script.Stays {
		select {}
	}
	return nil
}

// Script is what an agent does.
type Script struct {
	Greeting  string           // on standard output before anything else
	Complaint string           // on standard error
	Exit      int              // ends at once
	Stays     bool             // goes on when burin has closed the connection
	Init      json.RawMessage  // capabilities
	Auth      string           // refuses sessions until a person has logged in
	Loaded    []map[string]any // updates that a load sends
	Forgets   bool             // it knows no session when it is to load one
	Turns     [][]Step         // of prompts, in order; the last one is for all further ones
}

// Step is one thing that it does.
type Step struct {
	Say, Think  string
	Update      map[string]any // any update
	Ask         map[string]any // asks whether a call may run
	Then, Else  []Step         // after an answer
	NoOnce      bool           // offers no answer for one time
	Read        string
	Write, Text string // a file and what it gets: Text, or what was read
	Here        bool   // reads or writes the file by itself
	Run         string // a command in a terminal of burin's
	CWD         string
	Raw         string // on standard output
	Flood       int    // megabytes of text
	Exit        int
	Hang        bool // until it is canceled
	Deaf        bool // and longer
	Fail        string
	Stop        string
	Beside      []Step // while the next steps run
}

type actor struct {
	script Script
	conn   *proto.Conn

	mu       sync.Mutex
	log      *os.File
	prompts  int
	sessions int
	cancel   context.CancelFunc
	beside   sync.WaitGroup
}

func (a *actor) note(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintf(a.log, format+"\n", args...)
}

func (a *actor) take(method string, params json.RawMessage, isRequest bool) (proto.Work, error) {
	var p struct {
		SessionID string
		CWD       string
		Prompt    []proto.ContentBlock
	}
	_ = json.Unmarshal(params, &p)
	switch method {
	case proto.MethodInitialize:
		return func(context.Context) (any, error) {
			caps := a.script.Init
			if caps == nil {
				caps = json.RawMessage(`{}`)
			}
			return map[string]any{
				"protocolVersion": 1, "agentCapabilities": caps, "agentInfo": map[string]any{"name": "scripted", "version": "1"},
				"authMethods": []any{map[string]any{"id": "web", "name": "Log in on the web", "description": "write scripted login"}},
			}, nil
		}, nil
	case proto.MethodSessionNew, proto.MethodSessionLoad, proto.MethodSessionResume:
		if a.script.Auth != "" {
			return nil, proto.Errorf(proto.CodeAuthRequired, "%s", a.script.Auth)
		}
		a.note("%s %s in %s", method, p.SessionID, filepath.Base(p.CWD))
		if method != proto.MethodSessionNew && a.script.Forgets {
			return nil, proto.Errorf(proto.CodeNotFound, "no session")
		}
		a.mu.Lock()
		a.sessions++
		id := p.SessionID
		if id == "" {
			id = fmt.Sprintf("s%d-%d", os.Getpid(), a.sessions)
		}
		a.mu.Unlock()
		return func(ctx context.Context) (any, error) {
			if method == proto.MethodSessionLoad {
				for _, u := range a.script.Loaded {
					_ = a.conn.Notify(ctx, proto.MethodSessionUpdate, map[string]any{"sessionId": id, "update": u})
				}
			}
			return map[string]any{"sessionId": id}, nil
		}, nil
	case proto.MethodSessionCancel:
		a.note("cancel")
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.cancel != nil {
			a.cancel()
		}
		return nil, nil
	case proto.MethodSessionPrompt:
		var texts []string
		for _, b := range p.Prompt {
			if b.Type == "text" {
				texts = append(texts, b.Text)
			} else {
				texts = append(texts, "<"+b.Type+">")
			}
		}
		words, _ := json.Marshal(texts)
		a.note("prompt %s", words)
		a.mu.Lock()
		turn := a.script.Turns[min(a.prompts, len(a.script.Turns)-1)]
		a.prompts++
		ctx, cancel := context.WithCancel(context.Background())
		a.cancel = cancel
		a.mu.Unlock()
		return func(context.Context) (any, error) {
			stop, err := a.perform(ctx, p.SessionID, turn)
			a.beside.Wait()
			if err != nil {
				return nil, err
			}
			return map[string]any{"stopReason": stop}, nil
		}, nil
	}
	if isRequest {
		return nil, proto.Errorf(proto.CodeMethodNotFound, "no %s", method)
	}
	return nil, nil
}

// perform does the steps of a prompt.
func (a *actor) perform(ctx context.Context, session string, steps []Step) (stop string, err error) {
	tell := func(u map[string]any) {
		_ = a.conn.Notify(context.Background(), proto.MethodSessionUpdate, map[string]any{"sessionId": session, "update": u})
	}
	chunk := func(kind, text string) {
		tell(map[string]any{"sessionUpdate": kind, "content": map[string]any{"type": "text", "text": text}})
	}
	for _, s := range steps {
		if ctx.Err() != nil && !s.Deaf {
			return "cancelled", nil
		}
		switch {
		case s.Say != "":
			chunk("agent_message_chunk", s.Say)
		case s.Think != "":
			chunk("agent_thought_chunk", s.Think)
		case s.Update != nil:
			tell(s.Update)
		case s.Raw != "":
			fmt.Fprint(os.Stdout, s.Raw)
		case s.Flood > 0:
			text := strings.Repeat("flood ", 10_000)
			for range s.Flood << 20 / len(text) {
				chunk("agent_message_chunk", text)
			}
		case s.Ask != nil:
			options := []any{
				map[string]any{"optionId": "always", "name": "Always", "kind": "allow_always"},
				map[string]any{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
				map[string]any{"optionId": "no", "name": "No", "kind": "reject_once"},
			}
			if s.NoOnce {
				options = options[:1]
			}
			var r proto.PermissionResponse
			err := a.conn.Call(context.Background(), proto.MethodRequestPermission, map[string]any{"sessionId": session, "toolCall": s.Ask, "options": options}, &r)
			a.note("answer %v: %s %s %v", s.Ask["toolCallId"], r.Outcome.Outcome, r.Outcome.OptionID, err)
			next := s.Then
			if r.Outcome.OptionID != "yes" {
				next = s.Else
			}
			if stop, err := a.perform(ctx, session, next); stop != "end_turn" || err != nil {
				return stop, err
			}
		case s.Read != "" && s.Here:
			data, err := os.ReadFile(s.Read)
			a.note("read %s by itself: %q %v", filepath.Base(s.Read), data, err)
		case s.Read != "":
			var r proto.ReadTextFileResponse
			err := a.conn.Call(context.Background(), proto.MethodReadTextFile, map[string]any{"sessionId": session, "path": s.Read}, &r)
			a.note("read %s: %q %v", filepath.Base(s.Read), r.Content, err)
			if s.Write != "" {
				_ = a.conn.Call(context.Background(), proto.MethodWriteTextFile, map[string]any{"sessionId": session, "path": s.Write, "content": r.Content}, nil)
			}
		case s.Write != "" && s.Here:
			a.note("wrote %s by itself: %v", filepath.Base(s.Write), os.WriteFile(s.Write, []byte(s.Text), 0o644))
		case s.Write != "":
			err := a.conn.Call(context.Background(), proto.MethodWriteTextFile, map[string]any{"sessionId": session, "path": s.Write, "content": s.Text}, nil)
			a.note("wrote %s: %v", filepath.Base(s.Write), err)
		case s.Run != "":
			a.terminal(session, s)
		case s.Exit != 0:
			os.Exit(s.Exit)
		case s.Hang:
			<-ctx.Done()
			if s.Deaf {
				select {}
			}
			return "cancelled", nil
		case s.Fail != "":
			return "", errors.New(s.Fail)
		case s.Beside != nil:
			a.beside.Go(func() { _, _ = a.perform(ctx, session, s.Beside) })
		case s.Stop != "":
			return s.Stop, nil
		}
	}
	if ctx.Err() != nil {
		return "cancelled", nil
	}
	return "end_turn", nil
}

// terminal runs a command in a terminal of burin's.
func (a *actor) terminal(session string, s Step) {
	ctx := context.Background()
	var made proto.TerminalID
	create := map[string]any{"sessionId": session, "command": s.Run}
	if s.CWD != "" {
		create["cwd"] = s.CWD
	}
	if err := a.conn.Call(ctx, proto.MethodTerminalCreate, create, &made); err != nil {
		a.note("ran %s: %v", s.Run, err)
		return
	}
	id := map[string]any{"sessionId": session, "terminalId": made.TerminalID}
	var out proto.TerminalOutput
	var exit proto.TerminalExit
	err := errors.Join(a.conn.Call(ctx, proto.MethodTerminalWait, id, &exit), a.conn.Call(ctx, proto.MethodTerminalOutput, id, &out), a.conn.Call(ctx, proto.MethodTerminalRelease, id, nil))
	code := -1
	if exit.ExitCode != nil {
		code = *exit.ExitCode
	}
	a.note("ran %s: %q exit %d %v", s.Run, out.Output, code, err)
}
