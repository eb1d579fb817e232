package kit

import (
	"context"
	"slices"
	"time"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

// checkpointSaved is the result of a checkpoint, by which it is found again: on the branch that is continued, also after a
// restart.
const checkpointSaved = "Checkpoint saved. Please stop and wait for instruction to continue."

// maxContinues is how many times a model goes on by itself for a message.
const maxContinues = 50

type checkpointArgs struct {
	Note string `json:"note" jsonschema:"what is done and what comes next, for the user"`
}

func newCheckpoint() *tool.Tool {
	return tool.New(tool.Definition[checkpointArgs]{
		Name: session.CheckpointTool, Label: "Checkpoint",
		Description: "Marks the end of a part of long work. Call it alone, when what you need later is written down in your answers, notes or files. Then end your answer: you are asked to continue at once, without what you thought and which tools you called before.",
		Access:      func(checkpointArgs) []tool.Access { return nil },
		Together:    func(checkpointArgs) bool { return false },
		Run: func(_ context.Context, _ tool.Call, a checkpointArgs) (*tool.Result, error) {
			return tool.Text(checkpointSaved).WithDetails(a), nil
		},
	})
}

func isCheckpoint(m *llm.Message) bool {
	return m.Role == llm.RoleToolResult && m.ToolName == session.CheckpointTool && !m.IsError && m.Text() == checkpointSaved
}

// onwards makes a model continue that ended its answer after a checkpoint.
func onwards(c *project.CheckpointTool, now func() time.Time) func(context.Context, session.Ending) (*session.Onward, error) {
	text := c.ContinueMessage
	if text == "" {
		text = "please continue"
	}
	return func(_ context.Context, e session.Ending) (*session.Onward, error) {
		if !slices.ContainsFunc(e.Since, func(m llm.Message) bool { return isCheckpoint(&m) }) {
			return nil, nil
		}
		m := llm.UserText(text)
		m.Role, m.CustomType, m.Display, m.Time = llm.RoleCustom, session.CheckpointTool, true, now()
		return &session.Onward{Message: m}, nil
	}
}

// swipe leaves out of requests what came before the last checkpoint. Nothing of it is stored: it follows
// from the conversation.
type swipe struct{ tools []string }

func swiper(c *project.CheckpointTool) swipe {
	of := map[string][]string{
		"filesystem": {"read", "write", "edit", "ls", "find", "grep", "undo_edit", "filesystem"},
		"minion":     {"task", "irc", "task_list"},
		"web":        {"fetch", "web_search"},
	}
	var s swipe
	for _, group := range project.Swipeable() {
		switch {
		case slices.Contains(c.Keep, group):
		case of[group] != nil:
			s.tools = append(s.tools, of[group]...)
		default:
			s.tools = append(s.tools, group)
		}
	}
	return s
}

// change implements a [session.RequestInterceptor].
func (s swipe) change(_ context.Context, purpose string, r *llm.Request) error {
	if purpose == session.ForTurn || purpose == session.ForRetry {
		r.Messages = s.messages(r.Messages)
	}
	return nil
}

// messages are those that the model gets. A checkpoint counts once its answer has ended: providers want the thinking of
// an answer that still calls tools.
func (s swipe) messages(all []llm.Message) []llm.Message {
	ended, at := false, -1
	for i := range slices.Backward(all) {
		m := &all[i]
		if ended && isCheckpoint(m) {
			at = slices.IndexFunc(all[:i], func(c llm.Message) bool {
				return slices.ContainsFunc(c.ToolCalls(), func(call llm.ToolCall) bool { return call.ID == m.ToolCallID })
			})
			break
		}
		ended = ended || m.Role == llm.RoleUser || m.Role == llm.RoleCustom
	}
	if at < 0 {
		return all
	}
	gone := map[string]bool{} // ids of calls
	kept := make([]llm.Message, 0, len(all))
	for i, m := range all[:at+1] {
		switch m.Role {
		case llm.RoleToolResult:
			if gone[m.ToolCallID] {
				continue
			}
		case llm.RoleAssistant:
			content := make([]llm.Block, 0, len(m.Content))
			for _, b := range m.Content {
				switch b := b.(type) {
				case llm.Thinking:
					continue
				case llm.ToolCall:
					if i < at && slices.Contains(s.tools, b.Name) {
						gone[b.ID] = true
						continue
					}
				}
				content = append(content, b)
			}
			if m.Content = content; len(content) == 0 {
				continue
			}
		default:
		}
		kept = append(kept, m)
	}
	return append(kept, all[at+1:]...)
}
