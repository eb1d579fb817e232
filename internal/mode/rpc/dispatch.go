package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/jsontext"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// job is a pending command.
type job struct {
	head
	raw []byte
	*command
	ctx context.Context // ends when the client stops the command; nil: with the face
}

// call is a running command.
type call struct {
	*job
	f *face
	s *seat
}

// read reads commands until the input ends.
func (f *face) read() {
	defer f.room.close()
	in := jsontext.NewLines(f.o.In, MaxLine, maxHead)
	for f.ctx.Err() == nil {
		line, err := in.Next()
		switch {
		case errors.Is(err, jsontext.ErrTooLong):
			f.refuse(idOf(line), "parse", fmt.Errorf("the line is longer than %d MB", MaxLine>>20))
		case err != nil:
			return
		case len(strings.TrimSpace(string(line[:min(len(line), 64)]))) > 0 || len(line) > 64:
			f.take(line)
		}
	}
}

// take starts the command in a line.
func (f *face) take(line []byte) {
	var h head
	if err := json.Unmarshal(line, &h); err != nil {
		f.refuse(idOf(line), "parse", fmt.Errorf("the line is not a command: %w", err))
		return
	}
	id := h.ID
	h.ID = sound(id)
	c := f.known[h.Type]
	switch {
	case h.Type == "":
		f.refuse(h.ID, "parse", errors.New(`the command has no "type"`))
		return
	case h.Type == "extension_ui_response":
		f.answer(line)
		return
	case c == nil:
		f.refuse(h.ID, h.Type, fmt.Errorf("unknown command: %s", prose.Row(h.Type, 100)))
		return
	case len(id) > 0 && h.ID == nil && string(id) != "null":
		f.refuse(nil, h.Type, errors.New("the id must be a string or a number"))
		return
	}
	j := &job{head: h, raw: bytes.Clone(line), command: c}
	f.room.take(len(line))
	switch c.order {
	case beside, endless:
		f.aside(j)
	case posted:
		f.posted.begin()
		f.enqueue(j)
	default:
		f.enqueue(j)
	}
}

func (f *face) enqueue(j *job) {
	select {
	case f.lane <- j:
	case <-f.ctx.Done():
	}
}

// aside runs a command concurrently.
func (f *face) aside(j *job) {
	select {
	case f.beside <- struct{}{}:
	default:
		f.room.free(len(j.raw))
		f.refuse(j.ID, j.Type, fmt.Errorf("%d commands are running already: wait for one of them", maxBeside))
		return
	}
	done := func() {}
	if j.order == beside {
		f.doing.begin()
		done = f.doing.end
	}
	// The next line may stop it, before it has begun.
	var stop context.CancelFunc
	j.ctx, stop = context.WithCancel(f.ctx)
	over := f.stoppable(j, stop)
	go func() {
		defer func() { <-f.beside }()
		defer done()
		defer over()
		f.do(j)
	}()
}

// stoppable lets others stop a command until it is over.
func (f *face) stoppable(j *job, stop context.CancelFunc) (over func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[j] = stop
	return func() {
		stop()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.calls, j)
	}
}

// work runs commands in order until there are no more. A goroutine of its own submits messages,
// because their attachments may take time.
func (f *face) work() {
	handed := make(chan struct{})
	go func() {
		defer close(handed)
		for j := range f.post {
			f.do(j)
			f.posted.end()
		}
	}()
	for j := range f.lane {
		switch j.order {
		case posted:
			f.post <- j
			continue
		case moving:
			f.posted.wait(f.ctx)
		}
		f.do(j)
	}
	close(f.post)
	<-handed
}

// do runs a command and answers it.
func (f *face) do(j *job) {
	defer f.room.free(len(j.raw))
	ctx := f.ctx
	if j.ctx != nil {
		ctx = j.ctx
	}
	s, err := f.seated(ctx)
	if err != nil {
		f.refuse(j.ID, j.Type, err)
		return
	}
	c := &call{j, f, s}
	if j.order == posted {
		f.gate.Lock()
		defer f.gate.Unlock()
	}
	data, err := j.run(ctx, c)
	switch {
	case errors.Is(err, errAnswered):
	case err != nil:
		f.refuse(j.ID, j.Type, err)
	default:
		f.out.object(response{ID: j.ID, Type: "response", Command: j.Type, Success: true, Data: data})
	}
}

// errAnswered is returned by a command that has sent its own response.
var errAnswered = errors.New("answered")

func (f *face) refuse(id json.RawMessage, command string, err error) {
	f.out.object(response{ID: id, Type: "response", Command: prose.Row(command, 100), Error: prose.Line(err.Error())})
}

// answer passes on the person's answer to a question.
func (f *face) answer(line []byte) {
	if s := f.seat(); s != nil {
		s.asks.answer(line)
	}
}

// submit submits a message. The caller holds the gate.
func (f *face) submit(ctx context.Context, s *seat, in session.Input) (session.Receipt, error) {
	r, err := s.h.Conversation().Submit(ctx, in)
	if err == nil && in.When != session.Next {
		f.submitted(r.ID)
	}
	return r, err
}

// submitted notes a message that was submitted here.
func (f *face) submitted(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mine = append(f.mine, id)
	if n := len(f.mine); n > 64 { // the session has forgotten older ones, too
		f.mine = append([]string(nil), f.mine[n-64:]...)
	}
}

// submitFirst submits the prompt that the face was started with.
func (f *face) submitFirst() {
	f.posted.begin()
	f.enqueue(&job{head: head{Type: "prompt"}, command: &command{order: posted, run: func(ctx context.Context, c *call) (any, error) {
		if _, err := f.submit(ctx, c.s, session.Input{Message: f.o.Prompt}); err != nil {
			return nil, err
		}
		return nil, errAnswered
	}}})
}

// stop cancels the concurrent commands that match, and reports whether there are any.
func (f *face) stop(match func(*job) bool) (any bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for j, stop := range f.calls {
		if match(j) {
			stop()
			any = true
		}
	}
	return any
}

// abort stops the running turn and the messages that were sent before, submitted or not, and
// waits until nothing runs.
func (f *face) abort(ctx context.Context, h session.Handle) error {
	f.stop(func(j *job) bool { return j.Type == "compact" || j.Type == ownPrefix+"compact" || j.Type == "prompt" })
	if err := h.Conversation().Abort(ctx); err != nil {
		return err
	}
	f.posted.wait(ctx)
	return f.halt(ctx, h)
}

// halt stops the running turn and waits until nothing runs.
func (f *face) halt(ctx context.Context, h session.Handle) error {
	feed := h.Events(session.Cursor{})
	if err := h.Conversation().Abort(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, idleTime)
	defer cancel()
	for h.Facts().Working {
		f.pause(feed)
		if ctx.Err() != nil {
			return errors.New("the running turn did not stop in time")
		}
	}
	return nil
}

// userMessage makes a message of a person, with images.
func userMessage(text string, images []json.RawMessage) (llm.Message, error) {
	m := llm.Message{Role: llm.RoleUser}
	if text != "" || len(images) == 0 {
		m.Content = append(m.Content, llm.Text{Text: text})
	}
	if len(images) == 0 {
		return m, nil
	}
	var with llm.Message
	raw, err := json.Marshal(map[string]any{"role": llm.RoleUser, "content": images})
	if err == nil {
		err = json.Unmarshal(raw, &with)
	}
	if err != nil {
		return m, fmt.Errorf("images: %w", err)
	}
	for i, b := range with.Content {
		if p, ok := b.(llm.Image); !ok || len(p.Data) == 0 && p.URL == "" {
			return m, fmt.Errorf(`images: number %d is not {"type":"image","data":…,"mimeType":…}`, i+1)
		}
	}
	m.Content = append(m.Content, with.Content...)
	return m, nil
}
