package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/permit"
)

// asker puts the questions of a session to the person at the editor.
type asker struct {
	conn    *proto.Conn
	session string
	client  *proto.InitializeRequest
	teller  *teller
	notice  func(severity, text string)

	mu    sync.Mutex
	asked map[string]context.CancelFunc // questions that are open, by id
}

// begin returns the context for asking a question, which ends when the question is settled.
// It is nil if the question is being asked already.
func (a *asker) begin(ctx context.Context, id string) (context.Context, func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked[id] != nil {
		return nil, nil
	}
	ctx, stop := context.WithCancel(ctx)
	a.asked[id] = stop
	return ctx, stop
}

// settled withdraws a question that has been answered elsewhere.
func (a *asker) settled(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if stop := a.asked[id]; stop != nil {
		stop()
		delete(a.asked, id)
	}
}

// ask asks a question. ok is false if the question was withdrawn or the connection ended.
func (a *asker) ask(ctx context.Context, q *session.Question) (r session.Reply, ok bool) {
	var err error
	switch {
	case q.Kind == session.AskPermission && q.Permission != nil:
		r, err = a.permission(ctx, q)
	case q.Kind == session.AskChoice && q.Plan != nil:
		r, err = a.review(ctx, q)
	case q.Kind == session.AskChoice:
		r, err = a.choices(ctx, q)
	case q.Kind == session.AskConfirm && q.Schema == nil:
		r, err = a.confirm(ctx, q)
	case q.Kind == session.AskText && q.Schema == nil && a.hasForms():
		r, err = a.text(ctx, q)
	default: // a secret would be seen: the protocol has no field that hides what is typed
		err = errors.ErrUnsupported
	}
	switch {
	case errors.Is(err, proto.ErrClosed), ctx.Err() != nil:
		return r, false
	case errors.Is(err, errors.ErrUnsupported):
		a.notice("warning", "A question can't be asked in this editor and was dismissed: "+cmp.Or(q.Title, string(q.Kind)))
		return session.Reply{Dismissed: true}, true
	case err != nil:
		a.notice("warning", "The editor could not ask: "+err.Error())
		return session.Reply{Dismissed: true}, true
	}
	return r, true
}

func (a *asker) hasForms() bool {
	e := a.client.ClientCapabilities.Elicitation
	return e != nil && e.Form != nil
}

// answerable is an option with the reply that it stands for.
type answerable struct {
	proto.PermissionOption
	reply session.Reply
}

// pick lets the person choose an option.
func (a *asker) pick(ctx context.Context, call proto.ToolCall, options []answerable) (session.Reply, error) {
	q := proto.PermissionRequest{SessionID: a.session, ToolCall: call}
	for i := range options {
		options[i].OptionID = strconv.Itoa(i)
		q.Options = append(q.Options, options[i].PermissionOption)
	}
	var r proto.PermissionResponse
	if err := a.conn.Call(ctx, proto.MethodRequestPermission, q, &r); err != nil {
		return session.Reply{}, err
	}
	if r.Outcome.Outcome != "selected" {
		return session.Reply{Dismissed: true}, nil
	}
	i := slices.IndexFunc(options, func(o answerable) bool { return o.OptionID == r.Outcome.OptionID })
	if i < 0 {
		return session.Reply{}, fmt.Errorf("it answered with the unknown option %q", r.Outcome.OptionID)
	}
	return options[i].reply, nil
}

// maxGrants is how many grants are offered; the narrowest come first.
const maxGrants = 3

// permission asks whether a call may run.
func (a *asker) permission(ctx context.Context, q *session.Question) (session.Reply, error) {
	answer := func(p permit.Answer) session.Reply { return session.Reply{Permission: &p} }
	d, request := &q.Permission.Decision, &q.Permission.Request
	options := []answerable{{proto.PermissionOption{Name: "Allow", Kind: proto.AllowOnce}, answer(permit.Answer{Allow: true})}}
	for _, o := range d.Offers {
		for _, scope := range []permit.Scope{permit.Session, permit.Project} {
			if slices.Contains(o.Scopes, scope) && len(options) <= maxGrants {
				name := "Allow " + o.Words + scopeWords(scope)
				options = append(options, answerable{proto.PermissionOption{Name: name, Kind: proto.AllowAlways}, answer(permit.Answer{Allow: true, Grant: o.In(scope)})})
			}
		}
	}
	options = append(options, answerable{proto.PermissionOption{Name: "Reject", Kind: proto.RejectOnce}, answer(permit.Answer{})})
	if len(d.Offers) > 0 && slices.Contains(d.Offers[0].Scopes, permit.Session) {
		never := d.Offers[0].In(permit.Session)
		for i := range never {
			never[i].Verdict = permit.Deny
		}
		options = append(options, answerable{
			proto.PermissionOption{Name: "Reject " + d.Offers[0].Words + scopeWords(permit.Session), Kind: proto.RejectAlways}, answer(permit.Answer{Grant: never}),
		})
	}
	return a.pick(ctx, a.call(q, request, d), options)
}

func scopeWords(s permit.Scope) string {
	if s == permit.Project {
		return " in this project"
	}
	return " in this session"
}

// call describes the call that a question is about.
func (a *asker) call(q *session.Question, r *permit.Request, d *permit.Decision) proto.ToolCall {
	c := proto.ToolCall{ToolCallID: cmp.Or(q.CallID, q.ID), Title: q.Titled(r.String()), ToolKind: kindOf(r.Tool), Status: proto.ToolPending}
	for _, access := range r.Access {
		if (access.Kind == tool.AccessRead || access.Kind == tool.AccessWrite) && access.Target != "" && !addressed(access.Target) {
			c.Locations = append(c.Locations, proto.ToolLocation{Path: a.teller.places.path(access.Target)})
		}
		if access.Kind == tool.AccessExecute && access.Target != "" {
			c.Content = append(c.Content, fenced(tail(access.Target)))
		}
	}
	if d.Dangerous != "" {
		c.Content = append(c.Content, proto.ToolContent{Type: "content", Content: proto.Text("Dangerous: it " + d.Dangerous + ".")})
	}
	return c
}

// form lets the person fill in a form. ok is false if they declined.
func (a *asker) form(ctx context.Context, q *session.Question, message string, f proto.Form) (values map[string]json.RawMessage, ok bool, err error) {
	f.Type = "object"
	var r proto.ElicitationResponse
	err = a.conn.Call(ctx, proto.MethodElicitation, proto.ElicitationRequest{
		Mode: "form", SessionID: a.session, ToolCallID: q.CallID, Message: message, RequestedSchema: f,
	}, &r)
	return r.Content, err == nil && r.Action == "accept", err
}

const formText = "text"

// text asks for a line.
func (a *asker) text(ctx context.Context, q *session.Question) (session.Reply, error) {
	values, ok, err := a.form(ctx, q, heading(q), proto.Form{Properties: map[string]proto.Field{formText: {Type: "string", Title: q.Title}}, Required: []string{formText}})
	var text string
	if !ok || json.Unmarshal(values[formText], &text) != nil {
		return session.Reply{Dismissed: true}, err
	}
	return session.Reply{Text: text}, nil
}

func heading(q *session.Question) string {
	return cmp.Or(strings.TrimSpace(q.Titled(q.Title)+"\n\n"+q.Text), "A question")
}

// confirm asks for yes or no.
func (a *asker) confirm(ctx context.Context, q *session.Question) (session.Reply, error) {
	return a.pick(ctx, a.plain(q, q.Titled(q.Title), q.Text), []answerable{
		{proto.PermissionOption{Name: "Yes", Kind: proto.AllowOnce}, session.Reply{Yes: true}},
		{proto.PermissionOption{Name: "No", Kind: proto.RejectOnce}, session.Reply{}},
	})
}

// plain describes a question that is not about a call.
func (a *asker) plain(q *session.Question, title, text string) proto.ToolCall {
	c := proto.ToolCall{ToolCallID: cmp.Or(q.CallID, q.ID), Title: cmp.Or(title, "A question"), ToolKind: "other", Status: proto.ToolPending}
	if text != "" {
		c.Content = []any{proto.ToolContent{Type: "content", Content: proto.Text(text)}}
	}
	return c
}

// review shows a plan and asks how to go on.
func (a *asker) review(ctx context.Context, q *session.Question) (session.Reply, error) {
	var options []answerable
	for _, c := range q.Choices {
		for _, o := range c.Options {
			kind := proto.AllowOnce
			if o == session.KeepPlanning {
				kind = proto.RejectOnce
			}
			options = append(options, answerable{proto.PermissionOption{Name: o, Kind: kind}, session.Reply{Choices: []session.Chosen{{Selected: []string{o}}}}})
		}
	}
	call := a.plain(q, q.Title, q.Plan.Text)
	call.ToolKind = "switch_mode"
	return a.pick(ctx, call, options)
}

// choices asks the model's questions in a form, or one after the other if the client has none.
func (a *asker) choices(ctx context.Context, q *session.Question) (session.Reply, error) {
	if a.hasForms() {
		return a.choiceForm(ctx, q)
	}
	var r session.Reply
	for i := range q.Choices {
		c := &q.Choices[i]
		var options []answerable
		for _, o := range c.Options {
			options = append(options, answerable{proto.PermissionOption{Name: o, Kind: proto.AllowOnce}, session.Reply{Choices: []session.Chosen{{Selected: []string{o}}}}})
		}
		if len(options) == 0 {
			return r, errors.ErrUnsupported
		}
		options = append(options, answerable{proto.PermissionOption{Name: "Skip", Kind: proto.RejectOnce}, session.Reply{Dismissed: true}})
		one, err := a.pick(ctx, a.plain(q, q.Titled(c.Text), ""), options)
		if err != nil || one.Dismissed {
			return one, err
		}
		r.Choices = append(r.Choices, one.Choices...)
	}
	return r, nil
}

// choiceForm asks all questions in one form. Each has a field with its options and one for a
// free answer.
func (a *asker) choiceForm(ctx context.Context, q *session.Question) (session.Reply, error) {
	f := proto.Form{Properties: map[string]proto.Field{}}
	var message []string
	key := func(i int) string { return fmt.Sprintf("q%d", i+1) }
	for i, c := range q.Choices {
		message = append(message, q.Titled(c.Text))
		var values []proto.FieldEnum
		for _, o := range c.Options {
			values = append(values, proto.FieldEnum{Const: o, Title: o})
		}
		field := proto.Field{Type: "string", Title: c.Text, OneOf: values}
		if c.Multi {
			field = proto.Field{Type: "array", Title: c.Text, Items: &proto.FieldItems{AnyOf: values}}
		}
		if r := c.Recommended; r >= 0 && r < len(c.Options) {
			field.Default = any(c.Options[r])
			if c.Multi {
				field.Default = []string{c.Options[r]}
			}
		}
		if len(values) > 0 {
			f.Properties[key(i)] = field
		}
		f.Properties[key(i)+"_other"] = proto.Field{Type: "string", Title: "Other", Description: "Your own answer instead"}
	}
	values, ok, err := a.form(ctx, q, strings.Join(message, "\n"), f)
	if !ok {
		return session.Reply{Dismissed: true}, err
	}
	var r session.Reply
	for i, c := range q.Choices {
		var chosen session.Chosen
		if raw := values[key(i)]; c.Multi {
			_ = json.Unmarshal(raw, &chosen.Selected) // on failure nothing is chosen
		} else if one := ""; json.Unmarshal(raw, &one) == nil && one != "" {
			chosen.Selected = []string{one}
		}
		_ = json.Unmarshal(values[key(i)+"_other"], &chosen.Custom)
		chosen.Selected = slices.DeleteFunc(chosen.Selected, func(s string) bool { return !slices.Contains(c.Options, s) })
		r.Choices = append(r.Choices, chosen)
	}
	return r, nil
}
