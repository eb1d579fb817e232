// Package change holds what turns changed in a workspace and what an undo would do about it,
// as plain data that every face reads and any transport carries.
//
// It doesn't keep the journal.
package change

import "time"

// Turn is a prompt, or a command of the user's, and what it changed.
type Turn struct {
	// ID names the turn for an undo; the id of a turn of another session has a suffix.
	ID      string    `json:"id"`
	Session string    `json:"session,omitempty"`
	Label   string    `json:"label,omitempty"`
	Time    time.Time `json:"time"`
	Paths   []string  `json:"paths,omitempty"` // sorted; paths that start with ".git/" belong to git
	Undone  bool      `json:"undone,omitempty"`
}

// Action is what an undo does with a path.
type Action string

const (
	Restore Action = "restore" // restore the previous content
	Delete  Action = "delete"  // remove it: it did not exist before
	Keep    Action = "keep"    // leave it unchanged, for the Reason
)

// Planned is a path of a turn and what an undo would do with it now.
type Planned struct {
	Path   string `json:"path"`
	Action Action `json:"action"`
	Reason string `json:"reason,omitempty"` // for Keep: it changed since, or can't be restored
}

// Diff is what a turn did to a file.
type Diff struct {
	Path    string `json:"path"`
	Diff    string `json:"diff,omitempty"` // unified
	Added   int    `json:"added"`          // lines
	Removed int    `json:"removed"`
	Created bool   `json:"created,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
	Why     string `json:"why,omitempty"` // why there is no diff
}

// Undone is what an undo did.
type Undone struct {
	Restored []string  `json:"restored,omitempty"`
	Kept     []Planned `json:"kept,omitempty"` // all with the action Keep
}
