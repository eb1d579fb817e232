package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/burin-dev/burin/internal/jsontext"
	"github.com/burin-dev/burin/internal/platform/filelock"
	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// Entries are the servers of a file of burin's own, by name, as they are written.
type Entries map[string]json.RawMessage

// Edit changes a file of burin's own while no other process does. What else is in it stays,
// but for comments. The file need not exist.
func Edit(ctx context.Context, path string, change func(Entries) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	lock, err := filelock.Take(ctx, path+".lock")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer filelock.Close(lock) //nolint:errcheck // nothing was written to it
	all, entries := map[string]json.RawMessage{}, Entries{}
	text, err := smallfile.Read(path, smallfile.Settings)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if text = bytes.TrimSpace(jsontext.Standard(text)); len(text) > 0 {
		if err := json.Unmarshal(text, &all); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if raw := all[keys[0]]; raw != nil {
		if err := json.Unmarshal(raw, &entries); err != nil {
			return fmt.Errorf("%s: %s: %w", path, keys[0], err)
		}
	}
	if err := change(entries); err != nil {
		return err
	}
	if all[keys[0]], err = json.Marshal(entries); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	out, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return smallfile.Replace(path, append(out, '\n'))
}

// Entry is a server as burin's own files have it.
func Entry(d Definition) (json.RawMessage, error) {
	e := map[string]any{}
	if d.Type == mcp.Stdio {
		e["command"] = d.Command
	} else {
		e["type"], e["url"] = d.Type, d.URL
	}
	if len(d.Args) > 0 {
		e["args"] = d.Args
	}
	if len(d.Env) > 0 {
		e["env"] = d.Env
	}
	if len(d.Headers) > 0 {
		e["headers"] = d.Headers
	}
	if d.Dir != "" {
		e["cwd"] = d.Dir
	}
	if d.Sandbox != nil {
		e["sandbox"] = d.Sandbox
	}
	if d.Timeout > 0 {
		e["timeout"] = d.Timeout / time.Millisecond
	}
	if d.Only != nil {
		e["includeTools"] = d.Only
	}
	if len(d.Without) > 0 {
		e["excludeTools"] = d.Without
	}
	if d.OAuth != nil {
		e["oauth"] = d.OAuth
		if d.OAuth.Off {
			e["oauth"] = false
		}
	}
	if d.Disabled {
		e["disabled"] = true
	}
	return json.Marshal(e)
}

// Switch turns a server on or off.
func Switch(raw json.RawMessage, on bool) (json.RawMessage, error) {
	var e map[string]any
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, err
	}
	delete(e, "enabled")
	delete(e, "disabled")
	if !on {
		e["disabled"] = true
	}
	return json.Marshal(e)
}

// SwitchTool has a tool of a server used or not.
func SwitchTool(raw json.RawMessage, tool string, on bool) (json.RawMessage, error) {
	var e map[string]any
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, err
	}
	for i, key := range []string{"excludeTools", "disabled_tools", "includeTools", "enabled_tools", "tools"} {
		list, _ := e[key].([]any)
		only := i > 1 // lists of the only ones
		if only && (!on || list == nil || slices.Contains(list, any("*"))) {
			continue
		}
		list = slices.DeleteFunc(list, func(name any) bool { return name == tool })
		if only || i == 0 && !on {
			list = append(list, tool)
		}
		if e[key] = list; len(list) == 0 {
			delete(e, key)
		}
	}
	return json.Marshal(e)
}
