package subagent

import (
	"slices"
	"strings"
)

// readers are the tools that only look.
func readers() []string { return []string{"read", "grep", "find", "ls", "fetch", "web_search"} }

// everyTool are the tools that a definition can leave out of all.
func everyTool() []string {
	return append(readers(), "edit", "write", "undo_edit", "bash", "job_list", "job_poll", "job_write", "job_kill", "ask", "calc", "history", "task")
}

// toolsOf are burin's tools for a name that a program has for one of its own. known is false for
// what burin doesn't have; a known name without tools is something that every agent has anyway.
func toolsOf(name string) (tools []string, known bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	if strings.HasPrefix(name, "mcp__") || strings.HasPrefix(name, "mcp_") { // of a server, which may be there
		return []string{name}, true
	}
	if server, rest, ok := strings.Cut(name, "/"); ok { // Copilot's sets: search/codebase
		if all, known := toolsOf(rest); known {
			return all, true
		}
		name = server
	}
	if slices.Contains(everyTool(), name) {
		return []string{name}, true
	}
	switch name {
	case "read_file", "read_many_files", "readfile", "view", "notebookread", "skill", "fetchmcpresource", "readmcpresourcetool", "listmcpresourcestool", "problems":
		return []string{"read"}, true
	case "grep_search", "search_file_content", "usages", "textsearch":
		return []string{"grep"}, true
	case "glob", "filesearch":
		return []string{"find"}, true
	case "search", "codebase", "codesearch", "semsearch":
		return []string{"grep", "find"}, true
	case "list", "list_directory", "listdirectory":
		return []string{"ls"}, true
	case "multiedit", "notebookedit", "patch", "apply_patch", "replace", "strreplace", "str_replace", "editfiles":
		return []string{"edit"}, true
	case "write_file", "createfile", "create", "new":
		return []string{"write"}, true
	case "shell", "run_shell_command", "powershell", "execute", "exec", "runcommands", "runinterminal", "terminal", "run_command", "ssh":
		return []string{"bash"}, true
	case "bashoutput", "taskoutput", "job", "getterminaloutput", "monitor":
		return []string{"job_list", "job_poll"}, true
	case "killshell", "killbash", "taskstop":
		return []string{"job_kill"}, true
	case "webfetch", "web_fetch":
		return []string{"fetch"}, true
	case "websearch", "google_web_search", "exa":
		return []string{"web_search"}, true
	case "web":
		return []string{"fetch", "web_search"}, true
	case "askuserquestion", "ask_user", "question":
		return []string{"ask"}, true
	case "agent", "runsubagent", "custom-agent", "subagent":
		return []string{"task"}, true
	case "todo", "todowrite", "todoread", "todos", "write_todos", "taskcreate", "taskupdate", "tasklist", "taskget", "exit_plan", "exitplanmode",
		"yield", "submit_result", "result", "return", "toolsearch":
		return nil, true
	}
	return nil, false
}

// choice are the tools that a definition wants.
type choice struct {
	all     bool     // no list was given
	some    []string // the list
	without []string
}

// names are the tools in burin's names; nil is all.
func (c *choice) names() []string {
	some := c.some
	if c.all {
		if len(c.without) == 0 {
			return nil
		}
		some = everyTool()
	}
	out := []string{} // not nil: none
	for _, t := range some {
		if !slices.Contains(c.without, t) && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}
