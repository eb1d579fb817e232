package acp

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/burin-dev/burin/agent"
	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/slash"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// prompts are the prompts that this client has submitted.
type prompts struct {
	mu     sync.Mutex
	all    map[string]*sent
	before []string // ids of finished prompts, newest last
}

// sent is a prompt that is not answered or not settled yet.
type sent struct {
	id        string
	submitted bool // the session has it and will settle it; guarded by prompts.mu
	answered  bool // the client has its answer; guarded by prompts.mu
	settled   chan struct{}
	over      sync.Once
	cancelled chan struct{} // closed when the client cancels it
	cancel    sync.Once
}

// cancelWait is how long a canceled prompt waits for its work to end before it is answered
// anyway.
const cancelWait = 50 * time.Millisecond

// keptPrompts is how many finished prompts are still known as this client's own.
const keptPrompts = 100

func newPrompts() *prompts { return &prompts{all: map[string]*sent{}} }

// begin adds a prompt.
func (p *prompts) begin() *sent {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &sent{id: rand.Text()[:16], settled: make(chan struct{}), cancelled: make(chan struct{})}
	p.all[s.id] = s
	return s
}

// alias makes a prompt wait for another message as well.
func (p *prompts) alias(s *sent, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[id], s.submitted = s, true
}

// submitting records whether a prompt is being submitted; not after a failed attempt.
func (p *prompts) submitting(s *sent, yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.submitted = yes
}

// end forgets an answered prompt, at once or as soon as it is settled.
func (p *prompts) end(s *sent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.answered = true
	if s.submitted && !s.isSettled() {
		return
	}
	p.forget(s)
}

// forget moves a prompt to the finished ones. The caller holds mu.
func (p *prompts) forget(s *sent) {
	for id, o := range p.all {
		if o == s {
			delete(p.all, id)
		}
	}
	if p.before = append(p.before, s.id); len(p.before) > keptPrompts {
		p.before = p.before[1:]
	}
}

// own reports whether this client sent the message.
func (p *prompts) own(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[id] != nil {
		return true
	}
	for _, b := range p.before {
		if b == id {
			return true
		}
	}
	return false
}

func (p *prompts) open() (ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.all {
		ids = append(ids, id)
	}
	return ids
}

// settle marks prompts as done: nothing more happens for them, and all updates were sent.
func (p *prompts) settle(ids ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		if s := p.all[id]; s != nil {
			s.over.Do(func() { close(s.settled) })
			if s.answered {
				p.forget(s)
			}
		}
	}
}

// winding returns the canceled prompts that were answered and whose work is still winding
// down.
func (p *prompts) winding() (all []*sent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.all {
		if s.answered {
			all = append(all, s)
		}
	}
	return all
}

func (p *prompts) settleAll() { p.settle(p.open()...) }

// cancelAll marks all prompts as canceled.
func (p *prompts) cancelAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.all {
		s.stop()
	}
}

func (s *sent) stop() { s.cancel.Do(func() { close(s.cancelled) }) }

func (s *sent) isSettled() bool {
	select {
	case <-s.settled:
		return true
	default:
		return false
	}
}

func (s *sent) stopped() bool {
	select {
	case <-s.cancelled:
		return true
	default:
		return false
	}
}

// prompt handles a prompt. It is registered before the next message is read, so a cancel right
// behind it finds it.
func (a *face) prompt(params json.RawMessage) (proto.Work, error) {
	p, err := read[proto.PromptRequest](params)
	if err != nil {
		return nil, err
	}
	l, err := a.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	m, err := message(p.Prompt, l.dir)
	if err != nil {
		return nil, err
	}
	s := l.prompts.begin()
	return func(ctx context.Context) (any, error) {
		defer l.prompts.end(s)
		defer context.AfterFunc(ctx, s.stop)() // the request itself is canceled
		if c, arg, ok := slash.Find(m, l.folder.Own()); ok {
			return l.carryOut(s, c, arg)
		}
		return l.send(s, m)
	}, nil
}

// send submits a prompt and waits until it is done.
func (l *live) send(s *sent, m llm.Message) (any, error) {
	for _, before := range l.prompts.winding() { // a message that is submitted during an abort would be held
		select {
		case <-before.settled:
		case <-s.cancelled:
		}
	}
	if s.stopped() {
		return proto.PromptResponse{StopReason: proto.StopCancelled}, nil
	}
	l.prompts.submitting(s, true)
	_, err := l.handle.Conversation().Submit(l.ctx, session.Input{ID: s.id, Message: m})
	if err != nil {
		l.prompts.submitting(s, false)
		return nil, keyless(err)
	}
	return l.wait(s, s.id)
}

// wait waits until a message is done.
func (l *live) wait(s *sent, id string) (any, error) {
	select {
	case <-s.settled:
	case <-s.cancelled:
		go l.abort(id)
		late := time.NewTimer(cancelWait)
		defer late.Stop()
		select {
		case <-s.settled:
		case <-late.C: // a program is still being ended
		}
	}
	if s.stopped() {
		return proto.PromptResponse{StopReason: proto.StopCancelled}, nil
	}
	out, err := l.handle.Conversation().Wait(l.ctx, id)
	if err == nil {
		err = out.Err
	}
	switch {
	case l.ctx.Err() != nil || errors.Is(err, session.ErrClosed):
		return proto.PromptResponse{StopReason: proto.StopCancelled}, nil
	case errors.Is(err, session.ErrOwnerGone):
		return nil, proto.Errorf(proto.CodeInternal, "the burin that had this session open has ended: load the session again")
	case out.Reason == agent.ReasonAborted: // by another face, or by a person who was asked
		return proto.PromptResponse{StopReason: proto.StopCancelled}, nil
	case out.Reason == agent.ReasonRefused, out.Reason == agent.ReasonLoop:
		if err != nil {
			_ = l.tell(chunk(chunkAgent, "\n\n*Stopped: "+words.Error(err)+"*", ""))
		}
	case err != nil:
		code := proto.CodeInternal
		if llm.KindOf(err) == llm.ErrAuth {
			code = proto.CodeAuthRequired
		}
		return nil, proto.Errorf(code, "%s", words.Error(keyless(err)))
	}
	return proto.PromptResponse{StopReason: stopOf(out.Reason)}, nil
}

// abort stops the running turn. A prompt that is still queued is taken back, unless messages of
// other faces are queued with it.
func (l *live) abort(id string) {
	_ = l.handle.Conversation().Abort(l.ctx)
	queue, err := l.handle.Queue().Waiting(l.ctx)
	if err != nil {
		return
	}
	waits, foreign := false, false
	for _, w := range append(queue.Steering, queue.FollowUps...) {
		waits = waits || w.ID == id
		foreign = foreign || !l.prompts.own(w.ID)
	}
	switch {
	case waits && !foreign:
		_, _ = l.handle.Queue().TakeBack(l.ctx)
	case waits:
		l.prompts.settle(id) // it stays in the queue, held, where the other faces see it
	}
}

// cancel stops the running turn of a session.
func (a *face) cancel(params json.RawMessage) (proto.Work, error) {
	p, err := read[proto.SessionRequest](params)
	if err != nil {
		return nil, err
	}
	l, err := a.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	if len(l.prompts.open()) == 0 { // another face began the turn
		go func() { _ = l.handle.Conversation().Abort(l.ctx) }()
	}
	l.prompts.cancelAll()
	return nil, nil
}

// message turns a prompt into a message.
func message(prompt []proto.ContentBlock, dir string) (llm.Message, error) {
	m := llm.Message{Role: llm.RoleUser}
	for i, b := range prompt {
		made, err := content(&b, dir)
		if err != nil {
			return m, proto.Invalid("prompt[%d]: %v", i, err)
		}
		if made != nil {
			m.Content = append(m.Content, made)
		}
	}
	if len(m.Content) == 0 {
		return m, proto.Invalid("the prompt is empty")
	}
	return m, nil
}

// content turns a block of a prompt into one of a message; nil: it is empty.
func content(b *proto.ContentBlock, dir string) (llm.Block, error) {
	switch b.Type {
	case "text":
		if b.Text == "" {
			return nil, nil
		}
		return llm.Text{Text: b.Text}, nil
	case "image":
		data, err := decode(b.Data)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(b.MimeType, "image/") {
			return nil, fmt.Errorf("%q is not an image type", b.MimeType)
		}
		return llm.Image{MIME: b.MimeType, Data: data}, nil
	case "audio":
		data, err := decode(b.Data)
		if err != nil {
			return nil, err
		}
		made, err := host.AttachData(context.Background(), data, "recording")
		if d, ok := made.(llm.Document); err == nil && ok && d.Audio() {
			return d, nil
		}
		return nil, errors.New("it is not a recording: send WAV, MP3, MP4, Ogg, WebM, FLAC, AAC or AIFF")
	case "resource_link":
		return link(b, dir)
	case "resource":
		if b.Resource == nil {
			return nil, errors.New("the resource is missing")
		}
		return resource(b.Resource, dir)
	}
	return nil, fmt.Errorf("unknown content type %q", b.Type)
}

// decode reads base64.
func decode(text string) ([]byte, error) {
	if len(text) > host.MaxMediaFile/3*4+4 {
		return nil, fmt.Errorf("it is larger than %d MB", host.MaxMediaFile>>20)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("data is not base64: %w", err)
	case len(data) == 0:
		return nil, errors.New("data is empty")
	}
	return data, nil
}

// link is a file or page that is named. Pictures and PDFs are attached; of other files the
// model reads what it needs, as the editor has it.
func link(b *proto.ContentBlock, dir string) (llm.Block, error) {
	if b.URI == "" {
		return nil, errors.New("the link has no uri")
	}
	at := filePath(b.URI)
	if at == "" {
		name := b.Name
		if name == "" || name == b.URI {
			return llm.Text{Text: b.URI}, nil
		}
		return llm.Text{Text: name + " (" + b.URI + ")"}, nil
	}
	name := relative(dir, at)
	switch strings.ToLower(filepath.Ext(at)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".pdf":
		return host.Attach(at, name)
	}
	return llm.Text{Text: "@" + name}, nil
}

// resource turns an embedded file into a block.
func resource(r *proto.Resource, dir string) (llm.Block, error) {
	name := r.URI
	if at := filePath(r.URI); at != "" {
		name = relative(dir, at)
	}
	switch {
	case r.Text != nil:
		if len(*r.Text) > host.MaxTextFile {
			return nil, fmt.Errorf("%s is larger than %d MB", name, host.MaxTextFile>>20)
		}
		return fileText(name, *r.Text), nil
	case r.Blob == nil:
		return nil, errors.New("the resource has neither text nor blob")
	}
	data, err := decode(*r.Blob)
	if err != nil {
		return nil, err
	}
	switch media := http.DetectContentType(data); {
	case strings.HasPrefix(media, "image/"):
		return llm.Image{MIME: media, Data: data}, nil
	case media == "application/pdf":
		return llm.Document{Name: filepath.Base(name), MIME: media, Data: data}, nil
	}
	if !utf8.Valid(data) || len(data) > host.MaxTextFile {
		return nil, fmt.Errorf("%s is neither text of at most %d MB, nor an image, nor a PDF", name, host.MaxTextFile>>20)
	}
	return fileText(name, string(data)), nil
}

func fileText(name, text string) llm.Text {
	return llm.Text{Text: host.AttachedText(name, text)}
}

// filePath returns the path in a file URI; "": the URI names no local file.
func filePath(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	at := u.Path
	if runtime.GOOS == "windows" {
		at = strings.TrimPrefix(at, "/")
	}
	return filepath.FromSlash(at)
}

// relative returns a path as the model sees it: relative to dir if it is inside.
func relative(dir, at string) string {
	if rel, err := filepath.Rel(dir, at); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return at
}
