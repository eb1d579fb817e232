package transcript

import (
	"encoding/json"
	"fmt"

	"github.com/burin-dev/burin/llm"
)

// RoleExecution is the role of the message of a command that a person ran. A model
// reads it in words; see [Execution].
const RoleExecution llm.Role = "bashExecution"

// Execution is a command that a person ran, as the pi family keeps it: in place of
// content the message has these fields.
type Execution struct {
	Command   string `json:"command"`
	Output    string `json:"output"`
	ExitCode  *int   `json:"exitCode,omitempty"` // nil: it has none
	Cancelled bool   `json:"cancelled"`
	Truncated bool   `json:"truncated"`                // Output is not all
	Full      string `json:"fullOutputPath,omitempty"` // where all of it is, such as artifact://3
	Excluded  bool   `json:"excludeFromContext,omitempty"`
	Timestamp int64  `json:"timestamp"` // Unix milliseconds
}

// NewExecution is the entry of a command, to be appended.
func NewExecution(x Execution) Entry {
	return Entry{Type: TypeMessage, Message: &llm.Message{Role: RoleExecution}, Execution: &x}
}

// Ending says how a command ended that did not end well; "" of the others.
func (x *Execution) Ending() string {
	switch {
	case x.Cancelled:
		return "Stopped."
	case x.ExitCode != nil && *x.ExitCode != 0:
		return fmt.Sprintf("Exit code %d.", *x.ExitCode)
	}
	return ""
}

// record is what is written of an entry.
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

// executionOf is the command that a record tells of; nil if it tells of none.
func executionOf(record json.RawMessage) *Execution {
	var r struct{ Message Execution }
	if json.Unmarshal(record, &r) != nil {
		return nil
	}
	return &r.Message
}
