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

// Options configure a session.
type Options struct {
	Client llm.Client
	// Unusable says why Request.Model can't be asked, as [Facts] tell it: the session opens all the same, to be read and to
	// choose another model. "" is that it can.
	Unusable string
	Request  llm.Request // common to all requests: everything except messages and tools
	Tools    []*tool.Tool
	// MoreTools are only offered after SetTools.
	MoreTools []*tool.Tool
	Preface   []llm.Message // goes before the first prompt
	// News is asked before each prompt for what goes before it; nil is nothing.
	News func() []llm.Message
	// Parts are the named pieces of the system prompt: instruction files. The rest of it is
	// burin's own.
	Parts []Part

	// Log stores the conversation, and the session continues what it contains. It is closed
	// with the session. nil keeps the conversation in memory.
	Log  *transcript.Log
	Path string // of the session file; "" if there is none
	// Window is the size of the window in tokens, where the model doesn't know it before it has
	// answered; nil or 0 is that of the model.
	Window func() int
	// Sealed says that the file is encrypted, so that faces store nothing in plain text.
	Sealed bool
	Mode   string // initial approval mode, as the system prompt describes it
	// AfterPlan is the mode that follows if Mode is plan mode; "" is ask.
	AfterPlan string
	// Planner is where the model hands over plans; nil if it can't.
	Planner *Planner
	// Rewinder is where the model sets checkpoints and goes back to them; nil if it can't.
	Rewinder *Rewinder
	// Sampler is given the model of the session, for requests of others; nil if there are none.
	Sampler *Sampler

	// What the session can use; nil if it can't.
	Ground      Ground
	Tasks       Tasks
	Jobs        Background
	Languages   Languages
	Models      Opener
	Crew        Crew
	Permissions Permissions // for faces
	Changes     Changes     // for faces
	Chains      Chains      // hooks, rules and extensions that take part
	// Lender is what the session that this one works for lends to it; nil: it works for none.
	Lender *Lender
	// Secrets hides values; nil hides nothing.
	Secrets *secret.Vault
	// Meter applies limits beyond this session; nil means none.
	Meter Meter

	Retry      Retry
	Compaction compact.Settings // the zero value is compact.Defaults
	// Roles has the selectors of models for tasks, by role: smol for titles and summaries,
	// plan for plan mode, vision for images that the session's model can't see, advisor. A missing role
	// is the session's own model.
	Roles map[string]string
	// KeepModel says that the user named Request.Model: a session that starts in plan mode
	// starts with it instead of the model of the role plan.
	KeepModel bool
	// Fallbacks has the selectors of models that take over, in order, when one keeps failing:
	// by its provider/id, else by its role. The chain of "default" also applies to all models
	// of the conversation without one.
	Fallbacks map[string][]string
	NoPromote bool // do not switch to a larger model when the conversation outgrows the window
	// Reminders is how many times per prompt a model is reminded of open todos; 0 is once,
	// negative is never.
	Reminders int
	// Advisor says whether the model of the role advisor reads what is done for each prompt, and may
	// add a remark; "" is off. AdvisorBudget is what that may cost in this session; 0 is no limit
	// but those of the session.
	Advisor       AdvisorMode
	AdvisorBudget llm.USD
	NoGoals       bool // refuse goals
	// CheckGoal verifies the criteria of a goal that the model takes for reached; said is what the
	// model says of it, which is a claim. It returns the criteria in their order, with what it
	// found. Its error pauses the goal. nil believes the model.
	CheckGoal func(ctx context.Context, g Goal, said string) ([]Criterion, error)
	Titles    bool // a model names sessions; otherwise their first words do
	// TitleSystem replaces burin's own instructions for a title. "" is those.
	TitleSystem string
	// Summariser writes summaries instead of the session's model; nil if there is none. The
	// session doesn't account for its cost.
	Summariser compact.Asker
	// Expand replaces templates and file commands in user messages. An error keeps the message
	// from being sent.
	Expand func(ctx context.Context, text string) (string, error)
	// Mentioned gives what goes with a user message because its texts name it, and says what is missing
	// and why. texts are those of its blocks, before Expand. nil: nothing.
	Mentioned func(ctx context.Context, texts []string) (blocks []llm.Block, problems []string)
	// Turn returns what is different while the model works on a user message, by its text before
	// Expand; nil is nothing.
	Turn func(ctx context.Context, text string) (*Turn, error)
	// Brief gives what the model should know with a user message, such as what hooks say about
	// it: a custom message of type "hooks" in front of it. An error keeps the message from being
	// accepted.
	Brief func(ctx context.Context, text string) (note string, err error)
	// BeforeRequest may change the tools and messages of a request of the conversation after
	// its model is chosen. It reports whether it added text to messages, which is then
	// searched for secrets; nil changes nothing.
	BeforeRequest func(context.Context, *llm.Request) (added bool)
	// Desk is where questions wait for an answer; nil makes one that refuses them while nobody
	// is there.
	Desk *Desk

	// Steering and FollowUp say how many queued messages are taken at once, Interrupt whether
	// steering stops running calls; "" is the loop's default.
	Steering  agent.QueueMode
	FollowUp  agent.QueueMode
	Interrupt agent.InterruptMode

	MaxTurns int     // requests per prompt; 0 is no limit
	MaxCost  llm.USD // of the whole session, including what its transcript says was spent before; 0 is no limit
	// Emit gets every event, in order, one at a time. It must not block for long, and must not
	// call a method that itself emits events (setting a title, model or mode, Run, Prompt,
	// Close), except Submit.
	Emit  func(Event)
	Warn  func(string) // gets what the user should know, one line each; nil drops it
	Close func() error // closes what the tools use
	Now   func() time.Time
}

// Part is a piece of the system prompt.
type Part struct{ Name, Text string }
