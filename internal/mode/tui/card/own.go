package card

import (
	"encoding/json"
	"fmt"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Own is the call of a command that a person runs. The model reads it, unless it is for the
// person alone.
func Own(line string, private bool) Call {
	args, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		args = nil // no text fails to be JSON
	}
	label := "You"
	if private {
		label = "Your own command"
	}
	return Call{Name: "bash", Label: label, Args: args}
}

// End says how a command of a person's ended. One without an exit code has -1.
func (c *Call) End(output string, failed, stopped bool, code int) {
	c.State = Done
	if failed {
		c.State = Failed
	}
	c.Content = []llm.Block{llm.Text{Text: output}}
	c.Details = json.RawMessage(fmt.Sprintf(`{"exitCode":%d,"cancelled":%t}`, code, stopped))
}

// Execution is the call of a command that a person ran, as a session tells of it.
func Execution(x *transcript.Execution) Call {
	c, code := Own(x.Command, x.Excluded), -1
	if x.ExitCode != nil {
		code = *x.ExitCode
	}
	c.End(x.Output, code != 0, x.Cancelled, code)
	return c
}
