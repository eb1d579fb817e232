package plan

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/tool"
)

//go:embed ask.md
var askDescription string

// Question is one question to a person.
type Question struct {
	ID          string
	Text        string
	Options     []string // faces add one for words of the person's own
	Multi       bool     // several options may be chosen
	Recommended int      // index of the option the model would choose; -1 is none
}

// Reply is the answer to one question.
type Reply struct {
	Selected []string // options, in the order in which they were chosen
	Custom   string   // the person's own words; empty if none
	TimedOut bool     // nobody answered in time: Selected is what the model recommended
}

// Asker puts the questions of a call to a person, all together, and gives a reply
// to each. There is no time limit: an answer that nobody gave would be worse than
// waiting. It returns [ErrDismissed] when the person does not want to answer.
type Asker interface {
	AskQuestions(ctx context.Context, call string, questions []Question) ([]Reply, error)
}

// ErrDismissed is that a person does not want to answer.
var ErrDismissed = errors.New("the user dismissed the question")

type askArgs struct {
	Questions []askQuestion `json:"questions"`
}

type askQuestion struct {
	ID          string      `json:"id" jsonschema:"short name for the answer"`
	Question    string      `json:"question"`
	Options     []askOption `json:"options" jsonschema:"2 to 5; one for other words is always added"`
	Multi       bool        `json:"multi,omitempty" jsonschema:"several may be chosen"`
	Recommended *int        `json:"recommended,omitempty" jsonschema:"index of the option you would choose"`
}

type askOption struct {
	Label string `json:"label"`
}

// askDetails are for faces.
type askDetails struct {
	Results []askResult `json:"results"`
}

type askResult struct {
	ID              string   `json:"id"`
	Question        string   `json:"question"`
	Options         []string `json:"options"`
	Multi           bool     `json:"multi"`
	SelectedOptions []string `json:"selectedOptions"`
	CustomInput     string   `json:"customInput,omitempty"`
}

func newAsk(asker Asker) *tool.Tool {
	return tool.New(tool.Definition[askArgs]{
		Name: "ask", Label: "Ask", Description: askDescription, Effects: tool.Asks,
		Adjust: func(s *tool.Schema) {
			one := 1
			tool.Property(s, "questions").MinItems = &one
		},
		Access: func(askArgs) []tool.Access { return nil },
		Run: func(ctx context.Context, c tool.Call, a askArgs) (*tool.Result, error) {
			return ask(ctx, asker, c.ID, a)
		},
	})
}

func ask(ctx context.Context, asker Asker, call string, a askArgs) (*tool.Result, error) {
	questions, err := check(a)
	if err != nil {
		return nil, err
	}
	replies, err := asker.AskQuestions(ctx, call, questions)
	switch {
	case errors.Is(err, ErrDismissed):
		return nil, fmt.Errorf("%w: %w", err, tool.ErrAbort)
	case err != nil:
		return nil, err
	case len(replies) != len(questions):
		return nil, fmt.Errorf("%d of %d questions were answered", len(replies), len(questions))
	}
	d := askDetails{}
	for i, q := range questions {
		d.Results = append(d.Results, askResult{
			ID: q.ID, Question: q.Text, Options: q.Options, Multi: q.Multi,
			SelectedOptions: append([]string{}, replies[i].Selected...), CustomInput: replies[i].Custom,
		})
	}
	return tool.Text(answers(questions, replies)).WithDetails(d), nil
}

func check(a askArgs) ([]Question, error) {
	if len(a.Questions) == 0 {
		return nil, errors.New("questions is empty: ask at least one")
	}
	var all []Question
	seen := map[string]bool{}
	for i, q := range a.Questions {
		switch {
		case strings.TrimSpace(q.Question) == "":
			return nil, fmt.Errorf("question %d has no text", i+1)
		case seen[q.ID]:
			return nil, fmt.Errorf("two questions have the id %q", q.ID)
		}
		seen[q.ID] = true
		one := Question{ID: q.ID, Text: q.Question, Multi: q.Multi, Recommended: -1}
		for _, o := range q.Options {
			if o.Label == "" || slices.Contains(one.Options, o.Label) {
				return nil, fmt.Errorf("options of question %d: each needs a label of its own", i+1)
			}
			one.Options = append(one.Options, o.Label)
		}
		if r := q.Recommended; r != nil && *r >= 0 && *r < len(one.Options) { // another index recommends nothing
			one.Recommended = *r
		}
		all = append(all, one)
	}
	return all, nil
}

// answers puts the replies in words: a line each.
func answers(questions []Question, replies []Reply) string {
	var b strings.Builder
	for i, q := range questions {
		if len(questions) > 1 {
			fmt.Fprintf(&b, "%s: ", q.ID)
		}
		r := replies[i]
		switch {
		case r.TimedOut && len(r.Selected) == 0:
			b.WriteString("Nobody answered in time. Go on with what you think is best, and say what you assumed.")
		case r.TimedOut:
			b.WriteString("Nobody answered in time; taken: " + strings.Join(r.Selected, ", "))
		case len(r.Selected) == 0 && r.Custom == "":
			b.WriteString("The user chose nothing.")
		case len(r.Selected) == 0:
			b.WriteString("The user wrote: " + r.Custom)
		default:
			b.WriteString("The user chose: " + strings.Join(r.Selected, ", "))
			if r.Custom != "" {
				b.WriteString("; and wrote: " + r.Custom)
			}
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}
