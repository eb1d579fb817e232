package session

import (
	"context"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// Options of a session.
type Options struct {
	Client  llm.Client
	Request llm.Request // what every request has beside messages and tools
	Tools   []*tool.Tool
	// MoreTools are not offered until SetTools says so.
	MoreTools []*tool.Tool
	Preface   []llm.Message // put in front of the first prompt
	// Parts are pieces of the system prompt that people know by name: instruction
	// files. The rest of it is burin's own words.
	Parts []Part

	// Log keeps the conversation, and what it holds is gone on with. It is closed
	// with the session. nil keeps it in memory.
	Log  *transcript.Log
	Path string // of the session file; "" if there is none
	// Sealed says that the file is encrypted, so that faces keep nothing in the clear.
	Sealed bool
	Mode   string // of permission at the beginning, as the system prompt tells of it

	// What the session can use; nil: there is none.
	Ground      Ground
	Tasks       Tasks
	Jobs        Background
	Models      Opener
	Permissions Permissions // for faces
	Changes     Changes     // for faces
	Chains      Chains      // where hooks, rules and extensions take part
	// Secrets hides values; nil hides nothing.
	Secrets *secret.Vault
	// Meter holds the limits that go beyond this session; nil holds none.
	Meter Meter

	Retry      Retry
	Compaction compact.Settings // the zero value is compact.Defaults
	// Roles are the selectors of models for tasks, by role: smol for titles and summaries, plan
	// for plan mode, vision for pictures that the session's model can't see. A role that is not
	// in it is the session's own model.
	Roles map[string]string
	// KeepModel says that the person named Request.Model: a session that begins in plan mode
	// begins with it, and not with that of the role plan.
	KeepModel bool
	// Fallbacks are the selectors of models to go on with, in order, when one keeps failing: by
	// its provider/id or else by its role. The chain of "default" is also that of all models
	// of the conversation that have none.
	Fallbacks map[string][]string
	NoPromote bool // do not go to a larger model when the context overflows
	// Reminders is how often a model is reminded for one prompt of what Tasks has open; 0 is
	// once, negative is never.
	Reminders int
	Titles    bool // a model names sessions; else their first words do
	// Summariser writes summaries in place of the session's model; nil: there is none.
	// It is paid for elsewhere.
	Summariser compact.Asker
	// Expand puts what a text stands for in its place (templates, file commands), in
	// messages of people. An error keeps the message from being sent.
	Expand func(ctx context.Context, text string) (string, error)
	// BeforeRequest may change the tools and messages of a request of the conversation, when
	// its model is chosen, and says whether words were added to messages, in which secrets are
	// then hidden; nil changes nothing.
	BeforeRequest func(context.Context, *llm.Request) (added bool)
	// Desk is where questions wait for an answer; nil makes one that refuses them while
	// nobody is there.
	Desk *Desk

	// Steering and FollowUp say how many messages that wait are taken at once, Interrupt
	// whether steering stops what runs; "" is the loop's default.
	Steering  agent.QueueMode
	FollowUp  agent.QueueMode
	Interrupt agent.InterruptMode

	MaxTurns int     // requests per prompt; 0 is no limit
	MaxCost  llm.USD // of the whole session, what its transcript tells of before included; 0 is no limit
	// Emit gets every event, in order, one at a time. It must not block for long, and
	// must not call what itself tells an event (a title, a model, a mode, Run, Prompt,
	// Close); Submit it may.
	Emit  func(Event)
	Warn  func(string) // what a person should know; nil drops it
	Close func() error // ends what the tools stand on
	Now   func() time.Time
}

// Part is a piece of the system prompt.
type Part struct{ Name, Text string }
