package task

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

// Main is the name of the session that all agents work for.
const Main = "main"

// All is the name that sends a message to every agent that works now.
const All = "all"

// MaxMessage is how many bytes a message has at most; a longer one is not sent.
const MaxMessage = 32 << 10

// How much waits for one receiver at most, who reads all of it with one request. A message beyond that
// is not sent.
const (
	MaxUnread      = 32
	MaxUnreadBytes = 128 << 10
)

// Speaker talks to the agents of a session.
type Speaker interface {
	List() []Peer
	// Send gives somebody a message, and says how it was delivered.
	Send(ctx context.Context, to, text string) (receipt string, err error)
	// Ask does the same and gives the answer. timeout 0 is no limit.
	Ask(ctx context.Context, to, text string, timeout time.Duration) (answer string, err error)
	// Wait waits for messages to the speaker; nil: none came in time. One of nobody says that a
	// message is in the speaker's conversation already.
	Wait(ctx context.Context, timeout time.Duration) ([]Letter, error)
}

// Peer is one that a speaker can talk to.
type Peer struct{ ID, Agent, State, About string }

// Letter is a message.
type Letter struct{ From, Text string }

// LetterText is messages as a model reads them.
func LetterText(all []Letter) string {
	var b strings.Builder
	for i, l := range all {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "Message from %s:\n\n%s", l.From, l.Text)
	}
	return b.String()
}

//go:embed irc.md
var ircDescription string

type ircArgs struct {
	Op      string `json:"op"`
	To      string `json:"to,omitempty"`
	Message string `json:"message,omitempty"`
	Await   bool   `json:"await,omitempty" jsonschema:"wait for the answer"`
	Timeout *int   `json:"timeoutMs,omitempty" jsonschema:"how long to wait; 0 is no limit"`
}

// IRC makes the tool irc. timeout is how long it waits where the model doesn't say; 0 is no limit.
func IRC(s Speaker, timeout time.Duration) *tool.Tool {
	return tool.New(tool.Definition[ircArgs]{
		Name: "irc", Label: "Message", Description: ircDescription,
		Adjust: func(schema *tool.Schema) {
			schema.Properties["op"].Enum = []any{"send", "wait", "list"}
		},
		Access:   func(ircArgs) []tool.Access { return nil },
		Together: func(ircArgs) bool { return true },
		Run: func(ctx context.Context, _ tool.Call, a ircArgs) (*tool.Result, error) {
			timeout := timeout
			if a.Timeout != nil && *a.Timeout >= 0 {
				timeout = time.Duration(*a.Timeout) * time.Millisecond
			}
			switch a.Op {
			case "list":
				return tool.Text(peers(s.List())), nil
			case "wait":
				all, err := s.Wait(ctx, timeout)
				switch {
				case err != nil:
					return nil, err
				case len(all) == 0:
					return tool.Text(fmt.Sprintf("No message within %s.", timeout)), nil
				case all[0].From == "":
					return tool.Text("A message has come in and follows."), nil
				}
				return tool.Text(LetterText(all)), nil
			}
			return send(ctx, s, a, timeout)
		},
	})
}

func send(ctx context.Context, s Speaker, a ircArgs, timeout time.Duration) (*tool.Result, error) {
	toAll := strings.EqualFold(a.To, All)
	switch {
	case a.To == "":
		return nil, errors.New("to is missing: name an agent, main or all")
	case strings.TrimSpace(a.Message) == "":
		return nil, errors.New("message is missing")
	case len(a.Message) > MaxMessage:
		return nil, fmt.Errorf("the message has %d bytes, at most %d: put long texts into a local:// file and name it", len(a.Message), MaxMessage)
	case a.Await && toAll:
		return nil, errors.New("await needs one to answer: name it in to")
	case a.Await:
		answer, err := s.Ask(ctx, a.To, a.Message, timeout)
		if err != nil {
			return nil, err
		}
		return tool.Text(answer), nil
	case !toAll:
		receipt, err := s.Send(ctx, a.To, a.Message)
		if err != nil {
			return nil, err
		}
		return tool.Text(receipt), nil
	}
	var b strings.Builder
	reached := 0
	for _, p := range s.List() {
		if p.State != "running" && p.ID != Main { // those that are done are not woken by what is said to all
			continue
		}
		receipt, err := s.Send(ctx, p.ID, a.Message)
		if err != nil {
			receipt = "failed: " + err.Error()
		} else {
			reached++
		}
		fmt.Fprintf(&b, "%s: %s\n", p.ID, receipt)
	}
	if reached == 0 {
		return nil, errors.New("nobody works who could read it\n" + b.String())
	}
	return tool.Text(b.String()), nil
}

func peers(all []Peer) string {
	if len(all) == 0 {
		return "No other agents."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n", prose.Count(len(all), "peer"))
	for _, p := range all {
		b.WriteString(p.ID + " [" + strings.Trim(p.Agent+" · "+p.State, " ·") + "]")
		if p.About != "" {
			b.WriteString(" " + p.About)
		}
		b.WriteString("\n")
	}
	return b.String()
}
