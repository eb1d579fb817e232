// Package change holds what turns have changed in a workspace and what an undo does with
// it: plain data, that every face reads and any wire carries.
//
// Who keeps the journal is not its matter.
package change

import "time"

// Turn is a prompt, or a person's command, and what was changed for it.
type Turn struct {
	// ID names it for an undo; that of another session has a suffix.
	ID      string    `json:"id"`
	Session string    `json:"session,omitempty"`
	Label   string    `json:"label,omitempty"`
	Time    time.Time `json:"time"`
	Paths   []string  `json:"paths,omitempty"` // sorted; what begins with ".git/" is git's
	Undone  bool      `json:"undone,omitempty"`
}

// Action is what an undo does with a path.
type Action string

const (
	Restore Action = "restore" // make it what it was
	Delete  Action = "delete"  // it was not there
	Keep    Action = "keep"    // leave it alone, for the reason
)

// Planned is a path of a turn with what an undo would do now.
type Planned struct {
	Path   string `json:"path"`
	Action Action `json:"action"`
	Reason string `json:"reason,omitempty"` // of Keep: it was changed since, or cannot be restored
}

// Undone is what an undo did.
type Undone struct {
	Restored []string  `json:"restored,omitempty"`
	Kept     []Planned `json:"kept,omitempty"` // all of Keep
}
