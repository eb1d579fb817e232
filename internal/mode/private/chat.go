package private

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/tools/eval"
	"github.com/burin-dev/burin/internal/tools/plan"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/sealed"
)

//go:embed chat.md
var words string

// renew is how often a lease is renewed, a third of how long it lasts.
const renew = 10 * time.Second

// About is what stands around a chat. It is sealed.
type About struct {
	Title    string   `json:"title,omitempty"`
	Model    string   `json:"model,omitempty"` // in place of the project's
	Thinking string   `json:"thinking,omitempty"`
	Draft    string   `json:"draft,omitempty"`
	Pinned   bool     `json:"pinned,omitempty"`
	Archived bool     `json:"archived,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	// Kept is how many records the transcript had when this was sealed: fewer were dropped by the server.
	Kept int `json:"kept,omitempty"`
}

// Chat is a chat of an open project.
type Chat struct {
	ID       string    `json:"id"`
	Project  string    `json:"project"`
	Created  time.Time `json:"created"`
	Modified time.Time `json:"modified"`
	Revision int64     `json:"revision"`
	Open     bool      `json:"open"` // a tab has it
	// Unreadable says in lists why it can't be opened: "damaged" is that the server gives other data than was kept. It
	// can be deleted.
	Unreadable string `json:"unreadable,omitempty"`
	About
}

// rawChat is one as the server has it.
type rawChat struct {
	Chat
	Data    []byte `json:"data"`
	Records int    `json:"records"`
}

// open is a chat that is open here.
type open struct {
	project *project
	id      string
	session *session.Session
	said    *transcript.Log
	store   *store
	face    session.Handle // for single requests
	lease   string
	stop    context.CancelFunc
	about   sync.Mutex // one change at a time
}

// openChat opens a chat with the lease of this tab.
func (l *Loop) openChat(ctx context.Context, p *project, id string, take bool) (opened *open, err error) {
	var hold struct{ Lease string }
	if err := l.server.do(ctx, http.MethodPost, "/chats/"+id+"/lease", map[string]any{"take": take}, &hold); err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.Background())
	c := &open{project: p, id: id, lease: hold.Lease, stop: stop, store: &store{ctx: life, server: l.server, chat: id, lease: hold.Lease}}
	defer func() {
		if err != nil {
			c.release(l)
			stop()
		}
	}()
	about, err := l.chat(ctx, p, id) // after the lease, so that nobody adds to it meanwhile
	if err != nil {
		return nil, err
	}
	if err := c.store.read(); err != nil {
		return nil, err
	}
	if len(c.store.records) < about.Kept {
		return nil, errAltered
	}
	log, err := c.log(p)
	if err != nil {
		return nil, err
	}
	c.said = log
	settings := p.now()
	selector := settings.Model
	if about.Model != "" {
		selector = about.Model
	}
	all := providers(settings.Providers)
	if selector == "" {
		selector = all.first()
	}
	unusable := ""
	model, err := all.Open(ctx, selector)
	if err != nil { // it can be read, and go on with another one
		unusable = err.Error()
		name, id, _ := strings.Cut(selector, "/")
		model = session.Opened{Model: &llm.Model{Provider: name, ID: cmp.Or(id, "model")}, Client: absent(unusable)}
	}
	thinking := settings.Thinking
	if about.Thinking != "" {
		thinking = about.Thinking
	}
	system := words
	if settings.Instructions != "" {
		system += "\n" + settings.Instructions
	}
	desk := session.NewDesk(session.DeskOptions{Wait: true})
	c.session, err = session.New(session.Options{
		Client: model.Client, Unusable: unusable, Models: p, Desk: desk, Log: log, Sealed: true, NoGoals: true,
		Request: llm.Request{Model: model.Model, System: system, Thinking: llm.Thought{Level: llm.Level(thinking)}},
		Tools:   tools(desk),
		Emit: func(e session.Event) {
			if e.Type == session.AgentSettled || e.Type == session.TitleChanged {
				go c.note(l) // it asks the server, and this must not wait
			}
		},
	})
	if err != nil {
		return nil, err
	}
	c.face = c.session.Face("browser", false)
	go c.hold(life, l)
	return c, nil
}

// absent is the client of a model that the project doesn't have any more.
type absent string

// Stream implements [llm.Client].
func (a absent) Stream(_ context.Context, r *llm.Request) llm.Stream {
	return llm.Failed(llm.Message{Role: llm.RoleAssistant, Provider: r.Model.Provider, Model: r.Model.ID}, &llm.Error{Kind: llm.ErrInvalidRequest, Message: string(a)})
}

// log opens the transcript. Its key is of this chat only, so that records of another one open nowhere here.
func (c *open) log(p *project) (*transcript.Log, error) {
	raw, err := p.ring.Derive(1, "transcript of "+c.id)
	if err != nil {
		return nil, err
	}
	key, err := sealed.NewKey(raw)
	clear(raw)
	if err != nil {
		return nil, err
	}
	empty := len(c.store.records) == 0
	s, err := sealed.New(c.store, key)
	switch {
	case err != nil:
		return nil, errAltered
	case empty:
		return transcript.Create(s, transcript.Header{ID: c.id}, transcript.Options{Inline: true})
	}
	log, damage, err := transcript.Open(s, transcript.Options{Inline: true})
	if err != nil || damage.Serious() || damage.Torn || log.ID() != c.id {
		return nil, errAltered // the server takes whole records only: none is ever torn by itself
	}
	return log, nil
}

// hold renews the lease. When another tab has taken it, the session ends here.
func (c *open) hold(ctx context.Context, l *Loop) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(renew):
		}
		err := l.server.do(ctx, http.MethodPost, "/chats/"+c.id+"/lease", map[string]any{"lease": c.lease}, nil)
		if p, ok := errors.AsType[*Problem](err); ok && p.Status < 500 {
			l.close(c)
			return
		}
	}
}

func (c *open) release(l *Loop) {
	ctx, cancel := context.WithTimeout(context.Background(), renew)
	defer cancel()
	_ = l.server.do(ctx, http.MethodPost, "/chats/"+c.id+"/release", map[string]any{"lease": c.lease}, nil) // else it runs out
}

// note seals how many records there are now, and the title.
func (c *open) note(l *Loop) {
	c.about.Lock()
	defer c.about.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), renew)
	defer cancel()
	_, _ = l.changeChat(ctx, c.project, c.id, func(a *About) error { // the next turn notes it again
		a.Kept = max(a.Kept, int(c.store.kept.Load()))
		if title := c.said.Title(); title != "" {
			a.Title = title
		}
		return nil
	})
}

// tools are those that need no machine.
func tools(desk *session.Desk) []*tool.Tool {
	return append(eval.New(), plan.New(plan.Options{Asker: asker{desk}})...)
}

// asker puts the model's questions on the desk.
type asker struct{ desk *session.Desk }

func (a asker) AskQuestions(ctx context.Context, call string, questions []plan.Question) ([]plan.Reply, error) {
	choices := make([]session.Choice, len(questions))
	for i, q := range questions {
		choices[i] = session.Choice(q)
	}
	reply, err := a.desk.Ask(ctx, session.Question{Kind: session.AskChoice, CallID: call, Choices: choices})
	switch {
	case err != nil:
		return nil, err
	case reply.Dismissed || len(reply.Choices) != len(questions):
		return nil, plan.ErrDismissed
	}
	replies := make([]plan.Reply, len(questions))
	for i, c := range reply.Choices {
		replies[i] = plan.Reply{Selected: c.Selected, Custom: c.Custom}
	}
	return replies, nil
}

// chat reads a chat and opens what is sealed of it.
func (l *Loop) chat(ctx context.Context, p *project, id string) (Chat, error) {
	var raw rawChat
	if err := l.server.do(ctx, http.MethodGet, "/chats/"+id, nil, &raw); err != nil {
		return Chat{}, err
	}
	return p.openChat(raw, id)
}

func (p *project) openChat(raw rawChat, id string) (Chat, error) {
	if raw.ID != id || raw.Project != p.id {
		return Chat{}, errAltered
	}
	data, err := p.ring.Open(chatPlace(p.id, id, raw.Revision), raw.Data)
	if err != nil {
		return Chat{}, errAltered
	}
	if err := json.Unmarshal(data, &raw.About); err != nil {
		return Chat{}, errAltered
	}
	if raw.Records < raw.Kept {
		return Chat{}, errAltered
	}
	return raw.Chat, nil
}

// changeChat changes what stands around a chat, again where another tab was faster.
func (l *Loop) changeChat(ctx context.Context, p *project, id string, change func(*About) error) (Chat, error) {
	for {
		c, err := l.chat(ctx, p, id)
		if err != nil {
			return c, err
		}
		if err := change(&c.About); err != nil {
			return c, err
		}
		c, err = l.putChat(ctx, p, c)
		if said, ok := errors.AsType[*Problem](err); !ok || said.Code != "changed" {
			return c, err
		}
	}
}

// putChat seals what stands around a chat for its next revision, and keeps it.
func (l *Loop) putChat(ctx context.Context, p *project, c Chat) (Chat, error) {
	data, err := json.Marshal(c.About)
	if err == nil {
		data, err = p.ring.Seal(chatPlace(p.id, c.ID, c.Revision+1), data)
	}
	if err != nil {
		return c, err
	}
	var raw rawChat
	if err := l.server.do(ctx, http.MethodPut, "/projects/"+p.id+"/chats/"+c.ID, map[string]any{"revision": c.Revision, "data": data}, &raw); err != nil {
		return c, err
	}
	return p.openChat(raw, c.ID)
}
