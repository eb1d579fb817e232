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
// for; before an agent begins, with it; and with the crew of the session that all work for.
type mail struct {
	mu      sync.Mutex
	waiters map[string]chan task.Letter // by who waits for any message
	boxes   map[string]*sync.Mutex      // held while somebody is given a message, by name
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
		l := task.Letter{From: s.id, Text: text}
		if s.post.hand(to, l) {
			return handed, nil
		}
		return s.root().letter(l)
	}
	receipt, _, err = s.send(ctx, to, text)
	return receipt, err
}

// send gives a message to a session, and what waits for the answer to it.
func (s speaker) send(ctx context.Context, to, text string) (receipt string, wait func(context.Context) (agent.Outcome, error), err error) {
	if strings.EqualFold(to, s.id) {
		return "", nil, errThatIsYou
	}
	letter := task.Letter{From: s.id, Text: text}
	m := s.find(to)
	if m != nil {
		if kept, err := m.keep(letter); kept || err != nil {
			return "it has not begun, and reads the message when it begins", m.firstAnswer, err
		}
	}
	live, how, when, err := s.session(ctx, to)
	if err != nil {
		return "", nil, err
	}
	if m != nil {
		m.readEarly(ctx, live, session.Next)
	}
	r, err := s.submit(ctx, live, nameFor(s, to), letter, when)
	if err != nil {
		return "", nil, err
	}
	if !r.Started {
		s.post.hand(to, task.Letter{}) // if it waits for one, it is told to read on
		how = "it works, and reads the message at its next step"
		if when == session.After {
			how = "it works, and reads the message when it is done"
		}
	}
	return how, func(ctx context.Context) (agent.Outcome, error) { return live.Wait(ctx, r.ID) }, nil
}

var errThatIsYou = errors.New("that is you")

// submit gives a session a message, unless too many wait there already.
func (s speaker) submit(ctx context.Context, live *session.Session, to string, l task.Letter, when session.When) (session.Receipt, error) {
	box := s.post.box(to)
	box.Lock()
	defer box.Unlock()
	n, size := session.Unread(live, CustomMessage)
	if to == task.Main {
		more, bytes := s.root().unread()
		n, size = n+more, size+bytes
	}
	if err := room(to, n, size, l); err != nil {
		return session.Receipt{}, err
	}
	return live.Submit(ctx, session.Input{Message: letterMessage(l), When: when})
}

// box is held from the look at how many messages wait for somebody until there is one more.
func (p *mail) box(name string) *sync.Mutex {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.boxes == nil {
		p.boxes = map[string]*sync.Mutex{}
	}
	name = strings.ToLower(name)
	if p.boxes[name] == nil {
		p.boxes[name] = new(sync.Mutex)
	}
	return p.boxes[name]
}

// room is an error if a message is more than somebody takes before they have read those that wait.
func room(to string, unread, size int, l task.Letter) error {
	switch {
	case unread >= task.MaxUnread:
		return fmt.Errorf("%s has %d unread messages, and takes no more until it has read them: say the rest in one message later, or in your result", to, unread)
	case size+len(l.Text) > task.MaxUnreadBytes:
		return fmt.Errorf("the unread messages of %s would have %d bytes with this one, at most %d: put long texts into a local:// file and name it", to, size+len(l.Text), task.MaxUnreadBytes)
	}
	return nil
}

const handed = "read at once: it waited for a message"

// letterMessage is letters as a model reads them.
func letterMessage(letters ...task.Letter) llm.Message {
	m := llm.UserText(task.LetterText(letters))
	m.Role, m.CustomType, m.Display = llm.RoleCustom, CustomMessage, true
	return m
}

// letter gives the session a message: at once where it rests, else when its model waits for one or
// has ended. A step of its own is not disturbed.
func (c *Crew) letter(l task.Letter) (receipt string, err error) {
	box := c.post.box(task.Main) // nothing else adds one
	box.Lock()
	defer box.Unlock()
	n, size := c.unread()
	c.mu.Lock()
	live := c.live
	c.mu.Unlock()
	if live != nil {
		more, bytes := session.Unread(live, CustomMessage)
		n, size = n+more, size+bytes
	}
	if err := room(task.Main, n, size, l); err != nil {
		return "", err
	}
	c.mu.Lock()
	c.letters = append(c.letters, l)
	c.mu.Unlock()
	if live != nil && !live.Facts().Working {
		c.deliver(live)
		return "it rested, and reads the message now", nil
	}
	select {
	case c.arrived <- struct{}{}:
	default:
	}
	return "it works, and reads the message when it is done or waits for one", nil
}

// unread counts the messages to the session that are with its crew, and their bytes.
func (c *Crew) unread() (n, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return count(c.letters)
}

// count counts letters and their bytes.
func count(letters []task.Letter) (n, size int) {
	for _, l := range letters {
		size += len(l.Text)
	}
	return len(letters), size
}

// read takes all messages to the session, oldest first.
func (c *Crew) read() (all []task.Letter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, c.letters = c.letters, nil
	return all
}

// keep takes a message to an agent that has not begun. It reports false if the agent has.
func (m *member) keep(l task.Letter) (kept bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hasBegun() {
		return false, nil
	}
	n, size := count(m.early)
	if err := room(m.id, n, size, l); err != nil {
		return false, err
	}
	m.early = append(m.early, l)
	return true, nil
}

// readEarly gives the agent what was sent to it before it began.
func (m *member) readEarly(ctx context.Context, live *session.Session, when session.When) {
	m.mu.Lock()
	letters := m.early
	m.early = nil
	m.mu.Unlock()
	if len(letters) == 0 {
		return
	}
	_, err := live.Submit(context.WithoutCancel(ctx), session.Input{Message: letterMessage(letters...), When: when})
	if err != nil && m.crew.life.Err() == nil {
		m.crew.o.Warn(fmt.Sprintf("the messages to agent %s could not be given to it: %v", m.id, err))
	}
}

// begin gives the agent its task, after what was sent to it until now. From then on messages go to
// its session.
func (m *member) begin(ctx context.Context, live *session.Session, order llm.Message) (session.Receipt, error) {
	m.readEarly(ctx, live, session.Next)
	r, err := live.Submit(ctx, session.Input{Message: order})
	if err == nil { // or first says that it never begins
		m.start()
		m.readEarly(ctx, live, session.Soon)
	}
	return r, err
}

// start says that messages can be given to the agent's session.
func (m *member) start() {
	m.starts.Do(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		close(m.started)
	})
}

// firstAnswer is what the agent's first work came to, as the answer to a message that was sent before.
func (m *member) firstAnswer(ctx context.Context) (agent.Outcome, error) {
	select {
	case <-m.over():
	case <-ctx.Done():
		return agent.Outcome{}, context.Cause(ctx)
	}
	r := m.report()
	if r.State != "done" {
		return agent.Outcome{Reason: agent.ReasonError, Err: errors.New(r.Error)}, nil
	}
	m.mu.Lock()
	text := m.output
	m.mu.Unlock()
	for _, note := range r.Notes {
		text += "\n[" + note + "]"
	}
	said := llm.UserText(text)
	said.Role = llm.RoleAssistant
	return agent.Outcome{Reason: agent.ReasonDone, Messages: []llm.Message{said}}, nil
}

// hasBegun reports whether messages can be given to the agent's session.
func (m *member) hasBegun() bool {
	select {
	case <-m.started:
		return true
	default:
		return false
	}
}

// find finds an agent of the family; nil: there is none with that id.
func (s speaker) find(id string) *member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[strings.ToLower(id)]
}

// root is the crew of the session that all work for.
func (s speaker) root() *Crew {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crews[""]
}

// session finds the session of an agent, or of all.
func (s speaker) session(ctx context.Context, to string) (live *session.Session, how string, when session.When, err error) {
	m := s.find(to)
	if strings.EqualFold(to, task.Main) {
		root := s.root()
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
	how = "it rested, and reads the message now"
	if m.row().State == session.AgentParked {
		how = "it was parked, and reads the message now"
	}
	live, err = m.awake(ctx)
	return live, how, session.Soon, err
}

// Ask implements [task.Speaker]. One whose wait would never end, as the other waits for it or for its
// place, is told so at once: places are not given up for a wait, or more than task.maxConcurrency
// agents would work when it ends.
func (s speaker) Ask(ctx context.Context, to, text string, timeout time.Duration) (answer string, err error) {
	if strings.EqualFold(to, s.id) {
		return "", errThatIsYou
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, errLate)
		defer cancel()
	}
	defer s.waits.add(wait{who: s.id, any: []string{nameFor(s, to)}, end: end})()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	m := s.find(to)
	if m != nil {
		defer m.asked()()
	}
	_, wait, err := s.send(ctx, to, text)
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errLate):
		return "", fmt.Errorf("no answer within %s; it could not be given the message", timeout)
	case err != nil:
		return "", err
	}
	out, err := wait(ctx)
	switch {
	case errors.Is(err, errLate) && m != nil && !m.hasBegun():
		return "", fmt.Errorf("no answer within %s; it has not begun, and reads the message when it begins", timeout)
	case errors.Is(err, errLate):
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
func (s speaker) Wait(ctx context.Context, timeout time.Duration) ([]task.Letter, error) {
	letters, leave := s.post.waits(s.id)
	if s.id == task.Main {
		if all := s.root().read(); len(all) > 0 {
			return append(all, leave()...), nil
		}
	} else if s.waiting() {
		leave()
		return []task.Letter{{}}, nil
	}
	var late <-chan time.Time
	if timeout > 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		late = t.C
	}
	select {
	case l := <-letters:
		leave()
		return []task.Letter{l}, nil
	case <-late:
		return leave(), nil
	case <-ctx.Done():
		if s.id == task.Main {
			for _, l := range leave() { // nobody reads it here
				_, _ = s.root().letter(l) // there was room for it
			}
		}
		return nil, context.Cause(ctx)
	}
}

// waiting reports whether a message waits in the session of the agent that speaks.
func (s speaker) waiting() bool {
	m := s.find(s.id)
	if m == nil {
		return false
	}
	m.mu.Lock()
	live := m.live
	m.mu.Unlock()
	if live == nil {
		return false
	}
	n, _ := session.Unread(live, CustomMessage)
	return n > 0
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

// waits notes who waits for a message. leave gives one that came meanwhile and was not taken.
func (p *mail) waits(who string) (letters <-chan task.Letter, leave func() []task.Letter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiters == nil {
		p.waiters = map[string]chan task.Letter{}
	}
	c := make(chan task.Letter, 1)
	who = strings.ToLower(who)
	p.waiters[who] = c
	return c, func() []task.Letter {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.waiters[who] == c {
			delete(p.waiters, who)
		}
		select {
		case l := <-c:
			return []task.Letter{l}
		default:
			return nil
		}
	}
}
