package transcript

import (
	"encoding/json"
	"fmt"

	"github.com/burin-dev/burin/llm"
)

// RoleExecution is the role of the message of a command that the user ran. A model reads it as
// text; see [Execution].
const RoleExecution llm.Role = "bashExecution"

// Execution is a command that the user ran, as the pi family stores it: the message has these
// fields instead of content.
type Execution struct {
	Command   string `json:"command"`
	Output    string `json:"output"`
	ExitCode  *int   `json:"exitCode,omitempty"` // nil if there is none
	Cancelled bool   `json:"cancelled"`
	Truncated bool   `json:"truncated"`                // Output is incomplete
	Full      string `json:"fullOutputPath,omitempty"` // where the complete output is, such as artifact://3
	Excluded  bool   `json:"excludeFromContext,omitempty"`
	Timestamp int64  `json:"timestamp"` // Unix milliseconds
}

// NewExecution returns the entry of a command, for appending.
func NewExecution(x Execution) Entry {
	return Entry{Type: TypeMessage, Message: &llm.Message{Role: RoleExecution}, Execution: &x}
}

// Ending says how a command ended that did not succeed; otherwise "".
func (x *Execution) Ending() string {
	switch {
	case x.Cancelled:
		return "Stopped."
	case x.ExitCode != nil && *x.ExitCode != 0:
		return fmt.Sprintf("Exit code %d.", *x.ExitCode)
	}
	return ""
}

// record returns what is written for an entry.
func (e *Entry) record() any {
	if e.Execution == nil {
		return e
	}
	type entry Entry
	return struct {
		*entry
		Message any `json:"message"`
	}{(*entry)(e), struct {
		Role llm.Role `json:"role"`
		*Execution
	}{RoleExecution, e.Execution}}
}

// executionOf returns the command of a record; nil if it isn't about one.
func executionOf(record json.RawMessage) *Execution {
	var r struct{ Message Execution }
	if json.Unmarshal(record, &r) != nil {
		return nil
	}
	return &r.Message
}
