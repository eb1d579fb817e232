package crew

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/host/crew/task"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// CustomMessage is the custom type of a message from another agent.
const CustomMessage = "irc:incoming"

// mail is who waits for a message of others. Messages themselves wait in the sessions that they are
// for, or with the crew of the session that all work for.
type mail struct {
	mu      sync.Mutex
	unread  map[string]int              // messages that wait in the sessions of agents
	waiters map[string]chan task.Letter // by who waits for any message
	asked   map[string]string           // who waits for the answer of whom
}

// speaker is one who talks to the agents of a family: an agent, or the session itself.
type speaker struct {
	*family
	id string
}

var _ task.Speaker = speaker{}

// Speaker is the crew's session among its agents.
func (c *Crew) Speaker() task.Speaker { return speaker{c.family, nameOf(c.of)} }

// Speaker is the agent with that id among the others.
func (f *family) Speaker(id string) task.Speaker { return speaker{f, nameOf(id)} }

// nameOf is the name of a session in messages.
func nameOf(id string) string {
	if id == "" {
		return task.Main
	}
	return id
}

// List implements [task.Speaker].
func (s speaker) List() (all []task.Peer) {
	s.mu.Lock()
	members := slices.Clone(s.members)
	s.mu.Unlock()
	if s.id != task.Main {
		all = append(all, task.Peer{ID: task.Main, State: "the session that all work for"})
	}
	for _, m := range members {
		if a := m.row(); a.ID != s.id {
			all = append(all, task.Peer{ID: a.ID, Agent: a.Agent, State: string(a.State), About: a.Description})
		}
	}
	return all
}

// Send implements [task.Speaker].
func (s speaker) Send(ctx context.Context, to, text string) (receipt string, err error) {
	if strings.EqualFold(to, task.Main) && s.id != task.Main {
		if s.post.hand(to, task.Letter{From: s.id, Text: text}) {
			return handed, nil
		}
		s.mu.Lock()
		root := s.crews[""]
		s.mu.Unlock()
		return root.letter(task.Letter{From: s.id, Text: text}), nil
	}
	receipt, _, err = s.send(ctx, to, text)
	return receipt, err
}

// send gives a message to a session, and what waits for the answer to it.
func (s speaker) send(ctx context.Context, to, text string) (receipt string, wait func(context.Context) (agent.Outcome, error), err error) {
	if strings.EqualFold(to, s.id) {
		return "", nil, errors.New("that is you")
	}
	letter := task.Letter{From: s.id, Text: text}
	live, how, when, err := s.session(ctx, to)
	if err != nil {
		return "", nil, err
	}
	m := letterMessage(letter)
	r, err := live.Submit(ctx, session.Input{Message: m, When: when})
	if err != nil {
		return "", nil, err
	}
	s.post.sent(to, 1) // it may have been read before this
	if !r.Started {
		s.post.hand(to, task.Letter{}) // if it waits for one, it is told to read on
		how = "it works, and reads the message at its next step"
		if when == session.After {
			how = "it works, and reads the message when it is done"
		}
	}
	return how, func(ctx context.Context) (agent.Outcome, error) { return live.Wait(ctx, r.ID) }, nil
}

const handed = "read at once: it waited for a message"

// letterMessage is a letter as a model reads it.
func letterMessage(l task.Letter) llm.Message {
	m := llm.UserText(fmt.Sprintf("Message from %s:\n\n%s", l.From, l.Text))
	m.Role, m.CustomType, m.Display = llm.RoleCustom, CustomMessage, true
	return m
}

// letter gives the session a message: at once where it rests, else when its model waits for one or
// has ended. A step of its own is not disturbed.
func (c *Crew) letter(l task.Letter) (receipt string) {
	c.mu.Lock()
	c.letters = append(c.letters, l)
	live := c.live
	c.mu.Unlock()
	if live != nil && !live.Facts().Working {
		c.deliver(live)
		return "it rested, and reads the message now"
	}
	select {
	case c.arrived <- struct{}{}:
	default:
	}
	return "it works, and reads the message when it is done or waits for one"
}

// read takes the oldest message to the session.
func (c *Crew) read() (l task.Letter, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.letters) == 0 {
		return l, false
	}
	l, c.letters = c.letters[0], c.letters[1:]
	return l, true
}

// sent counts a message that waits in the session of an agent.
func (p *mail) sent(to string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unread == nil {
		p.unread = map[string]int{}
	}
	to = strings.ToLower(to)
	p.unread[to] += n
}

func (p *mail) waiting(who string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unread[strings.ToLower(who)] > 0
}

// session finds the session of an agent, or of all.
func (s speaker) session(ctx context.Context, to string) (live *session.Session, how string, when session.When, err error) {
	s.mu.Lock()
	root, m := s.crews[""], s.byID[strings.ToLower(to)]
	s.mu.Unlock()
	if strings.EqualFold(to, task.Main) {
		root.mu.Lock()
		defer root.mu.Unlock()
		if root.live == nil {
			return nil, "", "", errors.New("the session has not begun")
		}
		return root.live, "it rested, and reads the message now", session.After, nil // a step of its own is not disturbed
	}
	if m == nil {
		return nil, "", "", fmt.Errorf("there is no %q: list says who is there", to)
	}
	select {
	case <-m.started:
	case <-ctx.Done():
		return nil, "", "", fmt.Errorf("%s has not begun", m.id)
	}
	how = "it rested, and reads the message now"
	if m.row().State == session.AgentParked {
		how = "it was parked, and reads the message now"
	}
	live, err = m.awake(ctx)
	return live, how, session.Soon, err
}

// Ask implements [task.Speaker].
func (s speaker) Ask(ctx context.Context, to, text string, timeout time.Duration) (answer string, err error) {
	release, err := s.post.asks(s.id, nameFor(s, to))
	if err != nil {
		return "", err
	}
	defer release()
	s.mu.Lock()
	m := s.byID[strings.ToLower(to)]
	s.mu.Unlock()
	if m != nil {
		defer m.asked()()
	}
	how, wait, err := s.send(ctx, to, text)
	if err != nil {
		return "", err
	}
	if wait == nil {
		return "", fmt.Errorf("%s: there is no answer to wait for (%s)", to, how)
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errLate)
		defer cancel()
	}
	out, err := wait(ctx)
	switch {
	case errors.Is(context.Cause(ctx), errLate):
		return "", fmt.Errorf("no answer within %s; it still works on it", timeout)
	case err != nil:
		return "", err
	case out.Reason != agent.ReasonDone && out.Err != nil:
		err := out.Err
		if m != nil {
			err = m.cutShort(err)
		}
		return "", fmt.Errorf("%s could not answer: %w", to, err)
	}
	answer = cutAnswer(result(out, false), to)
	if m != nil {
		for _, note := range m.brought(false) {
			answer += "\n[" + note + "]"
		}
		if m.changing() {
			answer += "\n[Its changes are brought back when it is done and nobody looks at it.]"
		}
	}
	return answer, nil
}

// asked counts one who waits for the agent's answer.
func (m *member) asked() (release func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asking++
	return func() {
		m.mu.Lock()
		m.asking--
		late := m.asking == 0 && m.back != nil && m.over_
		m.mu.Unlock()
		if late { // it answered when nobody waited any more
			m.crew.report(m)
		}
	}
}

// report brings back what an isolated agent changed that went on after its first work, and tells the
// session.
func (c *Crew) report(m *member) {
	go func() { m.tell(m.brought(false)) }() // whoever closes the agent waits for it
}

// changing reports whether an isolated agent has a folder whose changes are still to come back.
func (m *member) changing() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.back != nil
}

// nameFor is the name of an agent as it is written in the family.
func nameFor(s speaker, to string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.byID[strings.ToLower(to)]; m != nil {
		return m.id
	}
	return strings.ToLower(to)
}

func cutAnswer(text, from string) string {
	if text == "" {
		return "(It ended without a word.)"
	}
	if short := prose.Head(text, maxPreview); len(short) < len(text) {
		return short + fmt.Sprintf("\n[This is the start: read history://%s for all of it.]", from)
	}
	return text
}

var errLate = errors.New("the time to wait is over")

// Wait implements [task.Speaker].
func (s speaker) Wait(ctx context.Context, timeout time.Duration) (*task.Letter, error) {
	letters, leave := s.post.waits(s.id)
	defer leave()
	s.mu.Lock()
	root := s.crews[""]
	s.mu.Unlock()
	if s.id == task.Main {
		if l, ok := root.read(); ok {
			return &l, nil
		}
	} else if s.post.waiting(s.id) {
		return &task.Letter{}, nil
	}
	var late <-chan time.Time
	if timeout > 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		late = t.C
	}
	select {
	case l := <-letters:
		return &l, nil
	case <-late:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// hand gives a letter to one who waits for one.
func (p *mail) hand(to string, l task.Letter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	to = strings.ToLower(to)
	c, ok := p.waiters[to]
	if ok {
		delete(p.waiters, to)
		c <- l
	}
	return ok
}

func (p *mail) waits(who string) (letters chan task.Letter, leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiters == nil {
		p.waiters = map[string]chan task.Letter{}
	}
	c := make(chan task.Letter, 1)
	who = strings.ToLower(who)
	p.waiters[who] = c
	return c, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.waiters[who] == c {
			delete(p.waiters, who)
		}
	}
}

// asks notes who waits for whose answer. Two that waited for each other would never end.
func (p *mail) asks(who, whom string) (release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, n := whom, 0; at != "" && n <= len(p.asked); at, n = p.asked[at], n+1 {
		if at == who {
			return nil, fmt.Errorf("%s waits for an answer of yours: give it in your result, or send without await", whom)
		}
	}
	if p.asked == nil {
		p.asked = map[string]string{}
	}
	p.asked[who] = whom
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.asked, who)
	}, nil
}
