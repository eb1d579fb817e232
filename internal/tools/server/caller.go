package server

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// Person answers what servers ask during calls.
type Person interface {
	// AskFor puts questions of a server to the person, all together, and gives an answer to each. The
	// error is [ErrDismissed] if the person doesn't want to answer, and [ErrNobody] if nobody is there.
	AskFor(ctx context.Context, server, call string, questions []Question) ([]Reply, error)
}

// Question is a question of a server.
type Question struct {
	Text        string
	Options     []string // nil: words
	Multi       bool     // several options may be chosen
	Recommended int      // index of an option; -1 is none
}

// Reply is the answer to a question.
type Reply struct {
	Selected []string
	Custom   string // the person's own words
}

// Errors of persons.
var (
	ErrDismissed = errors.New("the user dismissed the question")
	ErrNobody    = errors.New("nobody is there to answer")
)

// maxAsks is how often a form is asked for that was filled in wrongly.
const maxAsks = 3

// caller is what a server may want during a call.
func (k *Kit) caller(server string, c *tool.Call) *mcp.Caller {
	call := c.ID
	out := &mcp.Caller{}
	if c.Update != nil {
		update := c.Update
		out.Progress = func(p mcp.Progress) {
			update(tool.Result{Content: []llm.Block{llm.Text{Text: progress(p)}}})
		}
	}
	if person := k.o.Person; person != nil {
		out.Elicit = func(ctx context.Context, form mcp.Form) (mcp.Answer, error) {
			return elicit(ctx, person, server, call, form)
		}
		if sample := k.o.Sample; sample != nil {
			out.Sample = func(ctx context.Context, r mcp.Sampling) (*mcp.Sampled, error) {
				if err := allowed(ctx, person, server, call, &r); err != nil {
					return nil, err
				}
				return sample(ctx, r)
			}
		}
	}
	return out
}

// progress says how far a call is.
func progress(p mcp.Progress) string {
	at := strconv.FormatFloat(p.Done, 'f', -1, 64)
	if p.Total > 0 {
		at += " of " + strconv.FormatFloat(p.Total, 'f', -1, 64)
	}
	if p.Message != "" {
		return p.Message + " (" + at + ")"
	}
	return at
}

const (
	agree  = "Agree"
	refuse = "Refuse"
	opened = "I have opened it"
)

// page is what a person reads of a page that a server wants opened: all of its address, and where it leads.
// Nobody else opens it.
func page(address string) string {
	u, err := url.Parse(address)
	if address == "" || err != nil {
		return ""
	}
	text := "It wants you to open this page in your browser:\n\n" + address + "\n\nIts host is " + u.Host +
		". Open it only if you trust that. burin doesn't open it, and learns nothing of what you do there."
	if strings.Contains(strings.ToLower(u.Host), "xn--") {
		text += "\nCareful: the host has letters of other scripts, which can look like those of another host."
	}
	if u.Scheme != "https" {
		text += "\nCareful: what you write there is not encrypted on its way."
	}
	return text
}

// elicit has a person fill in a form: a question for each field. What the person leaves out gets
// the field's default. For a page it is one question, which the person answers after opening it.
func elicit(ctx context.Context, person Person, server, call string, form mcp.Form) (mcp.Answer, error) {
	var questions []Question
	for i := range form.Fields {
		questions = append(questions, asked(&form.Fields[i]))
	}
	yes := agree
	if form.URL != "" {
		yes = opened
	}
	if len(questions) == 0 {
		questions = []Question{{Text: page(form.URL), Options: []string{yes, refuse}, Recommended: -1}}
	}
	wrong := ""
	for range maxAsks {
		now := slices.Clone(questions)
		now[0].Text = strings.TrimSpace(strings.Join([]string{wrong, form.Message, questions[0].Text}, "\n\n"))
		replies, err := person.AskFor(ctx, server, call, now)
		switch {
		case errors.Is(err, ErrDismissed):
			return mcp.Answer{Action: mcp.Cancel}, nil
		case errors.Is(err, ErrNobody):
			return mcp.Answer{Action: mcp.Decline}, nil
		case err != nil:
			return mcp.Answer{}, err
		}
		if len(form.Fields) == 0 {
			switch {
			case !slices.Contains(replies[0].Selected, yes):
			case form.URL != "":
				return mcp.Answer{Action: mcp.Accept}, nil
			default:
				return mcp.Answer{Action: mcp.Accept, Content: map[string]any{}}, nil
			}
			return mcp.Answer{Action: mcp.Decline}, nil
		}
		values, err := filled(form.Fields, replies)
		if err == nil {
			return mcp.Answer{Action: mcp.Accept, Content: values}, nil
		}
		wrong = "Not possible: " + err.Error() + "."
	}
	return mcp.Answer{Action: mcp.Cancel}, nil
}

// asked is the question for a field.
func asked(f *mcp.Field) Question {
	q := Question{Text: f.Title, Multi: f.Type == "array", Recommended: -1}
	if f.Description != "" {
		q.Text += ": " + f.Description
	}
	switch f.Type {
	case "boolean":
		q.Options = []string{"yes", "no"}
	case "number", "integer":
		q.Text += " (a number)"
	}
	for _, o := range f.Options {
		q.Options = append(q.Options, o.Title)
	}
	said := words(f, f.Default)
	if f.Default != nil && q.Options == nil {
		q.Options = []string{said}
	}
	if f.Default != nil && !q.Multi {
		q.Recommended = slices.Index(q.Options, said)
	} else if said != "" {
		q.Text += " (default: " + said + ")"
	}
	if !f.Required {
		q.Text += " (optional)"
	}
	return q
}

// words are what a person reads for a value.
func words(f *mcp.Field, v any) string {
	title := func(s string) string {
		for _, o := range f.Options {
			if o.Value == s {
				return o.Title
			}
		}
		return prose.Inline(s)
	}
	switch v := v.(type) {
	case string:
		return title(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case []string:
		all := make([]string, len(v))
		for i := range v {
			all[i] = title(v[i])
		}
		return strings.Join(all, ", ")
	}
	return ""
}

// filled are the values that a person gave.
func filled(fields []mcp.Field, replies []Reply) (map[string]any, error) {
	if len(replies) != len(fields) {
		return nil, fmt.Errorf("%d of %d questions were answered", len(replies), len(fields))
	}
	values := map[string]any{}
	for i := range fields {
		f, r := &fields[i], replies[i]
		given := slices.Clone(r.Selected)
		if own := strings.TrimSpace(r.Custom); own != "" {
			given = append(given, own)
		}
		switch {
		case len(given) == 0 && f.Default != nil:
			values[f.Name] = f.Default
		case len(given) == 0 && f.Required:
			return nil, fmt.Errorf("%s is needed", f.Title)
		case len(given) == 0:
		case f.Type == "array":
			all := []string{}
			for _, one := range given {
				v, err := f.Parse(one)
				if err != nil {
					return nil, err
				}
				all = append(all, v.([]string)...) // that is what an array is parsed to
			}
			if err := f.Chosen(all); err != nil {
				return nil, err
			}
			values[f.Name] = all
		default:
			said := given[len(given)-1]
			if f.Default != nil && said == words(f, f.Default) { // which may have lost what is not shown
				values[f.Name] = f.Default
				continue
			}
			v, err := f.Parse(said)
			if err != nil {
				return nil, err
			}
			values[f.Name] = v
		}
	}
	return values, nil
}

const (
	allow      = "Allow once"
	maxPreview = 3000 // bytes that a person sees of what a server sends to a model
)

// allowed asks a person whether a server may have a model answer.
func allowed(ctx context.Context, person Person, server, call string, r *mcp.Sampling) error {
	var b strings.Builder
	fmt.Fprintf(&b, "It wants the session's model to answer this, in up to %d tokens. You pay for it, and the server gets the answer.\n", r.MaxTokens)
	if r.System != "" {
		fmt.Fprintf(&b, "\n[system] %s\n", r.System)
	}
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "\n[%s]", m.Role)
		for _, c := range m.Content {
			if c.Type == "text" {
				b.WriteString(" " + c.Text)
			} else {
				fmt.Fprintf(&b, " (image, %d bytes)", len(c.Data))
			}
		}
		b.WriteByte('\n')
	}
	replies, err := person.AskFor(ctx, server, call, []Question{{Text: prose.Clip(strings.TrimSpace(b.String()), maxPreview), Options: []string{allow, refuse}, Recommended: -1}})
	switch {
	case errors.Is(err, ErrDismissed), errors.Is(err, ErrNobody):
		return mcp.ErrRefused
	case err != nil:
		return err
	case !slices.Contains(replies[0].Selected, allow):
		return mcp.ErrRefused
	}
	return nil
}
