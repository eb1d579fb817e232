package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/burin-dev/burin/session"
)

// ErrNoMethod reports an unknown method.
var ErrNoMethod = errors.New("unknown method")

// ErrParameters reports parameters that a method can't read.
var ErrParameters = errors.New("wrong parameters")

// Method describes a method.
type Method struct {
	Name  string
	About string // a sentence or two
	Needs Rights
	In    reflect.Type // of the parameters; nil: there are none
	Out   reflect.Type // of the result; nil: there is none
}

// Describe returns all methods that [Do] knows, sorted by name.
func Describe() []Method {
	var all []Method
	for _, name := range Methods() {
		m := methods[name]
		all = append(all, Method{name, abouts[name], m.needs, m.in, m.out})
	}
	return all
}

// Methods returns the names of all methods that [Do] knows, sorted.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }

// Do calls a method by name with all rights. Faces that take requests from programs offer the
// same methods as connections this way. Partial output goes to chunk, from one goroutine.
func Do(ctx context.Context, h session.Handle, name string, with json.RawMessage, chunk func(string)) (any, error) {
	m, ok := methods[name]
	if !ok {
		return nil, fmt.Errorf("%w %q", ErrNoMethod, name)
	}
	if len(with) == 0 {
		with = []byte("{}")
	}
	return m.run(ctx, h, with, chunk)
}

// abouts say what each method does, for descriptions of interfaces.
var abouts = map[string]string{
	"abort":                   "Stops what is running. Queued messages are held.",
	"abort_command":           "Stops only the user's own commands.",
	"abort_retry":             "Ends the wait before a retry: the prompt ends with the error.",
	"agent_tasks":             "Lists the tasks that agents share.",
	"agents":                  "Lists the sub-agents.",
	"answer":                  "Answers a question. The first answer counts.",
	"approve_plan":            "Has the plan carried out.",
	"aside":                   "Answers a question outside the conversation, which keeps nothing of it.",
	"breakdown":               "Says what fills the context window.",
	"change_policy":           "Changes what the session does automatically.",
	"compact":                 "Summarizes the conversation; text has instructions for the summary.",
	"console_follow":          "Passes what a foreground program writes, as base64, until it ends.",
	"console_resize":          "Resizes the terminal of a foreground program.",
	"console_stop":            "Ends a foreground program with everything it started.",
	"console_type":            "Sends keys to a foreground program.",
	"consoles":                "Lists the foreground programs that have a terminal.",
	"cursor":                  "Gives the position of the next event.",
	"entry":                   "Gives an entry of the transcript.",
	"entries":                 "Gives entries of the transcript, at most 100.",
	"force":                   "Makes the first answer to the next prompt call a tool.",
	"goal":                    "Gives the goal.",
	"grant":                   "Adds a rule for calls.",
	"handoff":                 "Writes a document with which another session can go on.",
	"job_kill":                "Ends a background job with everything it started.",
	"job_output":              "Gives the end of what a job has written.",
	"jobs":                    "Lists the background jobs.",
	"language_servers":        "Lists the language servers of the folder, and their states.",
	"language_server_log":     "Gives the end of what a language server wrote to its log.",
	"restart_language_server": "Ends a language server; the next request starts it.",
	"navigate":                "Moves to another entry of the conversation's tree.",
	"nodes":                   "Lists the entries of the transcript, from a number on.",
	"offer":                   "Offers exactly these tools, from the next request on.",
	"pin":                     "Keeps a text for the model across compactions.",
	"pins":                    "Lists the pinned texts.",
	"plan":                    "Gives the plan that the model handed over last.",
	"policy":                  "Says what the session does automatically.",
	"preview_undo":            "Says what an undo of a turn would do, and changes nothing.",
	"questions":               "Lists the open questions.",
	"queue":                   "Lists the messages that wait for the model.",
	"release":                 "Lets held messages start.",
	"resend":                  "Continues from an answer that failed or was stopped.",
	"revoke":                  "Removes a rule.",
	"rules":                   "Lists the rules in force, in the order in which they are checked.",
	"run":                     "Runs a command of the user's own.",
	"set_goal":                "Changes the goal. One without text removes it.",
	"set_label":               "Labels an entry.",
	"set_mode":                "Changes the approval mode.",
	"set_model":               "Changes the model; text is a selector.",
	"set_thinking":            "Changes how hard the model thinks.",
	"set_title":               "Names the session.",
	"set_todos":               "Replaces the todos.",
	"shake":                   "Shortens old outputs of a kind, and says how many tokens that freed.",
	"stop_agent":              "Ends a sub-agent and those that it started.",
	"submit":                  "Sends a message to the model, now or as it works. It returns when the message is on disk.",
	"take_back":               "Removes and returns all queued messages.",
	"todos":                   "Gives the todos.",
	"tools":                   "Lists the tools, with those that are offered.",
	"try_rules":               "Lists the finished calls for which rules would make a difference.",
	"turn_diff":               "Gives what a turn did to each file, as unified diffs.",
	"turns":                   "Lists the turns that changed files, newest first.",
	"undo":                    "Restores what a turn changed, or brings it back if it is undone.",
	"unpin":                   "Removes a pinned text.",
	"wait":                    "Waits until everything for a message is done.",
}
