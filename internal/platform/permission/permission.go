// Package permission decides which calls of tools may run.
//
// A [Policy] judges a [Request], the accesses that a call is about to make, by a
// [Mode] and by rules, and says what it decided and why. A question goes to an
// [Asker]; what the person grants beside the one call is a [Rule] again, with a
// scope, and can be looked at, tried on past calls and taken back.
//
// # How a call is judged
//
// Every access is judged by itself, of a shell command every simple command and
// every redirection in it; the strictest verdict is that of the call. For each,
// in this order:
//
//  1. a rule that refuses
//  2. a rule that asks
//  3. a rule that allows exactly this text
//  4. what is dangerous is a question, in every mode
//  5. a rule that allows, the most specific one
//  6. the mode
//
// A rule that refuses wins over everything. It also refuses what cannot be taken
// apart, or is not known before it runs, as soon as that names what the rule is
// about; what may be meant but is not named is a question that no grant answers.
//
// In plan mode nothing that changes something runs, whatever rules allow.
//
// # Rules
//
// In text a rule is "tool" or "tool(pattern)". A rule that refuses begins with
// "!" or "deny ", one that asks with "ask "; "allow " may be written out.
//
//	bash(git status)       exactly this command
//	bash(go test:*)        these words and anything after them
//	bash("a | b")          exactly this text; in Go's quotes nothing is special. It never
//	                       holds for a line with variables that other commands may set
//	edit(src/**)           files by pattern, relative to the workspace, or absolute, or from ~/
//	fetch(example.com)     a host; *.example.com is all below it; :8080 a port
//	bash                   every call of the tool
//
// A rule is for one tool, with three families: read is for all tools that look at
// files (read, ls, find, grep), edit for all that change them (edit, write,
// undo_edit), bash for all that run commands (bash, job_start). Rules of read and
// edit also hold for what commands surely read and for the files that
// redirections write.
//
// Words after ":*" never bring in more than arguments: each command in a pipe, a
// list or a substitution needs a rule of its own. Arguments that make a program
// run another one (git -c, tar --to-command, find -exec, python -c) are a question
// unless the rule itself names them. So is, for programs with a list of harmless
// options (go, git, tar and a few more), every option that is not in it: what is not
// understood is not covered. Other programs are the person's own, who named them. No
// first words cover a place outside of the workspace that a call is known to write to.
//
// Where rules refuse programs, values of variables that programs run (GIT_EDITOR) are
// judged as commands. What can't be looked into is a question: a variable that loads a
// file (BASH_ENV), a script that the same line writes.
//
// # Rules on files
//
// A rule that refuses a file is a wall ([Policy.Walls]) where the sandbox enforces it
// on what commands really open (Options.Walled). The analysis here refuses what
// commands name, in words and in code, and asks where a file is one of a few. Without
// walls it also asks about every file that is not known before it runs. No wall holds
// what git prints from its own objects, and a rule that asks is none: these are judged
// here in any case. A tool that searches a folder is judged by the folder, and asks
// [Policy.Withheld] about the files in it.
//
// # Where grants are kept
//
// Lasting grants are in one file of the user's, by project path. Nothing is ever
// read from the project itself: a clone cannot grant itself anything.
package permission

import (
	"fmt"

	"github.com/burin-dev/burin/tool/permit"
)

// Mode is how much runs without a question.
type Mode string

const (
	Plan     Mode = "plan"      // only what changes nothing
	Ask      Mode = "ask"       // reading runs, all else asks
	AutoEdit Mode = "auto-edit" // reading and editing files of the workspace run, all else asks
	Full     Mode = "full"      // everything runs but what is refused by a rule or dangerous
)

// ParseMode reads a mode, also by the names that other programs give it.
func ParseMode(s string) (Mode, error) {
	switch s {
	case "plan", "read-only":
		return Plan, nil
	case "ask", "always-ask", "default":
		return Ask, nil
	case "auto-edit", "write", "acceptEdits":
		return AutoEdit, nil
	case "full", "yolo":
		return Full, nil
	}
	return "", fmt.Errorf("approval mode %q: the modes are plan, ask, auto-edit and full", s)
}

// What is asked and answered is plain data, for faces too.
type (
	Refused  = permit.Refused
	Request  = permit.Request
	Verdict  = permit.Verdict
	Decision = permit.Decision
	Part     = permit.Part
	Offer    = permit.Offer
	Rule     = permit.Rule
	Scope    = permit.Scope
	Answer   = permit.Answer
)

const (
	Allow    = permit.Allow
	Deny     = permit.Deny
	Question = permit.Ask
)

const (
	Once    = permit.Once
	Session = permit.Session
	Project = permit.Project
	User    = permit.User
)
