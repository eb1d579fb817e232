package rpc

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/permit"
)

// uiRequest is the type of requests that ask or show a person something through the client.
const uiRequest = "extension_ui_request"

// uiJSON is a request of that type.
type uiJSON struct {
	Type        string            `json:"type"`
	ID          string            `json:"id"`
	Method      string            `json:"method"`
	Title       string            `json:"title,omitempty"`
	Message     string            `json:"message,omitempty"`
	Options     []string          `json:"options,omitempty"`
	Placeholder string            `json:"placeholder,omitempty"`
	Notify      string            `json:"notifyType,omitempty"`
	Timeout     int64             `json:"timeout,omitempty"` // milliseconds
	Secret      bool              `json:"burin/secret,omitempty"`
	Question    *session.Question `json:"burin/question,omitempty"`
}

func newID() string { return rand.Text()[:16] }

// asks passes the questions of a session to the client and its answers to the session.
type asks struct {
	out      *output
	to       session.Questions
	show     bool // write requests; if not, the client sees the questions as events
	patience time.Duration

	mu    sync.Mutex
	open  []*asked
	heard bool // the client has answered a question
	over  bool // the input has ended, so nobody can answer
	gone  int  // calls refused for that reason
}

// asked is a question that is open at the client.
type asked struct {
	*session.Question
	request string   // id of the current request
	options []option // of a permission question
	chosen  []session.Chosen
	own     bool // asking for a free answer
	late    *time.Timer
}

func newAsks(out *output, to session.Questions, show bool, patience time.Duration) *asks {
	return &asks{out: out, to: to, show: show, patience: patience}
}

// ask asks a question, once.
func (a *asks) ask(q *session.Question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.ContainsFunc(a.open, func(o *asked) bool { return o.Question.ID == q.ID }) {
		return
	}
	k := &asked{Question: q, request: q.ID}
	if q.Permission != nil {
		k.options = permissionOptions(q)
	}
	if len(q.Choices) > 0 {
		k.own = len(q.Choices[0].Options) == 0
	}
	switch q.Kind {
	case session.AskPermission, session.AskChoice, session.AskConfirm, session.AskText, session.AskSecret:
	default:
		return // unknown here, from a newer burin: another face may be able to ask it
	}
	if a.over {
		a.dismiss(k)
		return
	}
	a.open = append(a.open, k)
	if a.patience > 0 && !a.heard {
		k.late = time.AfterFunc(a.patience, func() { a.giveUp(k) })
	}
	a.put(k)
}

// put writes the request for the next part of a question. The caller holds mu.
func (a *asks) put(k *asked) {
	if !a.show {
		return
	}
	r := uiJSON{Type: uiRequest, ID: k.request, Question: k.Question, Title: title(k.Question)}
	switch k.Kind {
	case session.AskPermission:
		r.Method = "select"
		for _, o := range k.options {
			r.Options = append(r.Options, o.label)
		}
	case session.AskConfirm:
		r.Method, r.Message = "confirm", prose.Clean(k.Text, 4)
	case session.AskText, session.AskSecret:
		r.Method, r.Secret = "input", k.Kind == session.AskSecret
		r.Placeholder = prose.Row(k.Text, 200)
	case session.AskChoice:
		c := &k.Choices[len(k.chosen)]
		r.Title = prose.Clean(k.Titled(c.Text), 4)
		if k.Plan != nil {
			r.Title, r.Message = title(k.Question), prose.Clean(k.Plan.Text, 4)
		}
		switch {
		case k.own:
			r.Method = "input"
		case c.Multi:
			r.Method, r.Placeholder = "input", "numbers with commas, or your own words"
			for i, o := range c.Options {
				r.Title += fmt.Sprintf("\n%d  %s", i+1, prose.Row(o, 200))
			}
		default:
			r.Method, r.Options = "select", choices(c)
		}
	}
	switch {
	case !k.Until.IsZero():
		r.Timeout = max(time.Until(k.Until).Milliseconds(), 1)
	case k.late != nil:
		r.Timeout = a.patience.Milliseconds()
	}
	a.out.object(r)
}

// ownWords is the option for a free answer.
const ownWords = "Other: type your own answer"

// choices returns the options of a question, the recommended one first.
func choices(c *session.Choice) []string {
	options := slices.Clone(c.Options)
	if at := c.Recommended; at > 0 && at < len(options) {
		first := options[at]
		options = slices.Insert(slices.Delete(options, at, at+1), 0, first)
	}
	return append(options, ownWords)
}

// title says what a question is about.
func title(q *session.Question) string {
	if q.Permission == nil {
		return prose.Clean(q.Titled(q.Title), 4)
	}
	r, d := q.Permission.Request, q.Permission.Decision
	text := r.String()
	if !strings.HasPrefix(text, r.Tool) {
		text = r.Tool + ": " + text
	}
	text = q.Titled("Allow " + text + "?")
	switch {
	case d.Dangerous != "":
		text += "\nCareful: it " + prose.Row(d.Dangerous, 200)
	case d.Reason != "":
		text += "\n" + prose.Row(d.Reason, 200)
	}
	return text
}

// option is an answer to a permission question.
type option struct {
	label string
	permit.Answer
}

// permissionOptions are the possible answers: yes, each grant on offer, and no.
func permissionOptions(q *session.Question) []option {
	all, now := []option{{permit.Yes, permit.Answer{Allow: true}}}, time.Now()
	for _, offer := range q.Permission.Decision.Offers {
		for _, scope := range offer.Scopes {
			if scope != permit.Once { // that is yes
				all = append(all, option{offer.Label(scope, now), permit.Answer{Allow: true, Grant: offer.In(scope)}})
			}
		}
	}
	return append(all, option{permit.No, permit.Answer{}})
}

// dismissal is the reply for a question that nobody answers.
func dismissal(q *session.Question) session.Reply {
	if q.Kind == session.AskPermission {
		return session.Reply{Permission: &permit.Answer{}}
	}
	return session.Reply{Dismissed: true}
}

// responseJSON is a client's answer.
type responseJSON struct {
	ID        string  `json:"id"`
	Value     *string `json:"value"`
	Confirmed *bool   `json:"confirmed"`
	Cancelled bool    `json:"cancelled"`
}

// answer handles the answer to a request, and ignores one to an unknown request.
func (a *asks) answer(line []byte) {
	var r responseJSON
	if json.Unmarshal(line, &r) != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slices.IndexFunc(a.open, func(k *asked) bool { return k.request == r.ID })
	if at < 0 {
		return
	}
	k := a.open[at]
	reply, more := k.take(&r)
	a.heard = true
	k.calm()
	if more {
		k.request = newID()
		a.put(k)
		return
	}
	a.open = slices.Delete(a.open, at, at+1)
	a.reply(k, reply)
}

// calm removes the time limit of a question.
func (k *asked) calm() {
	if k.late != nil {
		k.late.Stop()
		k.late = nil
	}
}

// take reads an answer. more means that the question has further parts to ask.
func (k *asked) take(r *responseJSON) (reply session.Reply, more bool) {
	value := ""
	switch {
	case r.Value != nil:
		value = *r.Value
	case k.Kind == session.AskConfirm && r.Confirmed != nil && !r.Cancelled:
		return session.Reply{Yes: *r.Confirmed}, false
	}
	if r.Cancelled || r.Value == nil {
		return dismissal(k.Question), false
	}
	switch k.Kind {
	case session.AskConfirm:
		return session.Reply{Yes: value == "true" || value == "yes"}, false
	case session.AskText, session.AskSecret:
		return session.Reply{Text: value}, false
	case session.AskPermission:
		for _, o := range k.options {
			if o.label == value {
				return session.Reply{Permission: &o.Answer}, false
			}
		}
		switch strings.ToLower(trimmed(value)) {
		case "y", "yes":
			return session.Reply{Permission: &permit.Answer{Allow: true}}, false
		case "n", "no":
			value = ""
		}
		return session.Reply{Permission: &permit.Answer{Note: trimmed(value)}}, false
	}
	c := &k.Choices[len(k.chosen)]
	if value == ownWords && !k.own {
		k.own = true
		return reply, true
	}
	k.chosen = append(k.chosen, chosenOf(c, value, k.own))
	if len(k.chosen) < len(k.Choices) {
		k.own = len(k.Choices[len(k.chosen)].Options) == 0
		return reply, true
	}
	return session.Reply{Choices: k.chosen}, false
}

// chosenOf reads the answer to one of the model's questions: an option, the numbers of several,
// or else a free answer.
func chosenOf(c *session.Choice, value string, own bool) session.Chosen {
	switch {
	case own:
		return session.Chosen{Custom: value}
	case slices.Contains(c.Options, value):
		return session.Chosen{Selected: []string{value}}
	case !c.Multi:
		return session.Chosen{Custom: value}
	}
	var r session.Chosen
	for part := range strings.SplitSeq(value, ",") {
		n, err := strconv.Atoi(trimmed(part))
		if err != nil || n < 1 || n > len(c.Options) {
			return session.Chosen{Custom: value}
		}
		if o := c.Options[n-1]; !slices.Contains(r.Selected, o) {
			r.Selected = append(r.Selected, o)
		}
	}
	return r
}

// reply answers a question. If another face was quicker, its answer counts.
func (a *asks) reply(k *asked, r session.Reply) {
	k.calm()
	go func() { _ = a.to.Answer(context.Background(), k.Question.ID, r) }()
}

// giveUp dismisses a question that the client did not answer in time.
func (a *asks) giveUp(k *asked) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at := slices.Index(a.open, k); at >= 0 && k.late != nil {
		a.open = slices.Delete(a.open, at, at+1)
		a.reply(k, dismissal(k.Question))
	}
}

// settled removes a question that has been answered or withdrawn.
func (a *asks) settled(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = slices.DeleteFunc(a.open, func(k *asked) bool {
		if k.Question.ID == id {
			k.calm()
		}
		return k.Question.ID == id
	})
}

// leave forgets the questions: other faces may answer them.
func (a *asks) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, k := range a.open {
		k.calm()
	}
	a.open, a.over = nil, false
}

// close dismisses all open and future questions, because nobody can answer any more.
func (a *asks) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	for _, k := range a.open {
		a.dismiss(k)
	}
	a.open = nil
}

// dismiss dismisses a question. The caller holds mu.
func (a *asks) dismiss(k *asked) {
	if k.Kind == session.AskPermission {
		a.gone++
	}
	a.reply(k, dismissal(k.Question))
}

// refused returns how many calls were refused because nobody could answer.
func (a *asks) refused() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gone
}
