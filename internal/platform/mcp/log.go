package mcp

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/prose"
)

// Line is something that a server said of its work.
type Line struct {
	Time   time.Time
	Level  string // debug, info, notice, warning, error, critical, alert, emergency
	Logger string // "" if the server doesn't say
	Text   string
}

// Limits of the log of a server.
const (
	maxLines = 100
	maxLine  = 1000 // bytes
)

// ring keeps the last lines.
type ring struct {
	mu    sync.Mutex
	lines []Line
}

// take notes a message of notifications/message.
func (r *ring) take(now time.Time, params json.RawMessage) {
	var m struct {
		Level  string          `json:"level"`
		Logger string          `json:"logger"`
		Data   json.RawMessage `json:"data"`
	}
	if json.Unmarshal(params, &m) != nil {
		return
	}
	var text string
	if json.Unmarshal(m.Data, &text) != nil {
		text = string(m.Data)
	}
	inline := func(s string, most int) string { return prose.Short(prose.Inline(visible(s)), most) }
	l := Line{Time: now, Level: inline(m.Level, 20), Logger: inline(m.Logger, 60), Text: inline(text, maxLine)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lines) == maxLines {
		r.lines = slices.Delete(r.lines, 0, 1)
	}
	r.lines = append(r.lines, l)
}

func (r *ring) all() []Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}
