package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/burin-dev/burin/internal/host/checkup"
	"github.com/burin-dev/burin/internal/host/inventory"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/prose"
)

func doctorCommand(p *program) *cobra.Command {
	var online, asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this installation and say what to do",
		Long: `Check settings, keys, the model, clock, proxy, terminal, sandbox, git, disk, locks and
sessions, and say what to do about what is wrong. List what burin takes from the setup of each
program, and why it doesn't take the rest: instructions, rules, commands, skills, agents, hooks. Nothing is
changed or run. The exit code is 1 if burin can't work as it is. No output has a key in it.

  burin doctor
  burin doctor --online    also ask each provider the cheapest thing`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.doctor(cmd.Context(), online, asJSON) },
	}
	cmd.Flags().BoolVar(&online, "online", false, "send one cheap request with each provider's key, and compare the clock")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	return cmd
}

// examined is what burin doctor --json prints.
type examined struct {
	Version  string           `json:"version"`
	System   string           `json:"system"`
	Problems int              `json:"problems"`
	Results  []checkup.Result `json:"results"`
	Sources  []inventory.Item `json:"sources"`
}

// doctor checks this installation. What it opens stays open: the process ends after it, and
// closing would wait for what does not answer.
func (p *program) doctor(ctx context.Context, online, asJSON bool) error {
	checks, setups, err := p.checks(ctx, online)
	if err != nil {
		return err
	}
	results := checkup.Run(ctx, checks)
	if err := ctx.Err(); err != nil {
		return err
	}
	e := examined{Version: version(), System: runtime.GOOS + "/" + runtime.GOARCH, Problems: checkup.Problems(results), Results: results}
	if asJSON {
		if e.Sources, _, _ = setups(); e.Sources == nil { // the results have the error
			e.Sources = []inventory.Item{}
		}
		enc := json.NewEncoder(p.out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(e); err != nil {
			return err
		}
	} else {
		writeExamined(p.out, e)
	}
	if e.Problems > 0 {
		return fmt.Errorf("%s to solve; see above", prose.Count(e.Problems, "problem"))
	}
	return nil
}

// checks are what is looked at; setups gives what was found of the setups of programs.
func (p *program) checks(ctx context.Context, online bool) (checks []checkup.Check, setups takes, err error) {
	h, err := p.hostFor(nil, func(string) {}) // the results say it
	if err != nil {
		return nil, nil, err
	}
	var taken sync.Once
	var items []inventory.Item
	var rest []string
	var failed error
	setups = func() ([]inventory.Item, []string, error) {
		taken.Do(func() { items, rest, failed = inventory.Take(h) })
		return items, rest, failed
	}
	models, merr := h.OpenModels()
	checks = []checkup.Check{checkup.Settings(h, merr)}
	server := ""
	if models != nil {
		checks = append(checks, checkup.Keys(models), checkup.Model(models))
		if online {
			server = serverOf(p, models)
			checks = append(checks, checkup.Online(models)...)
		}
	}
	checks = append(checks, checkup.Clock(p.getenv, server, time.Now), checkup.Proxy(p.getenv), p.terminalCheck(), checkup.Sandbox(), checkup.Git(),
		checkup.Folder(h.Paths().Data), checkup.Locks(h.Paths().Data), checkup.Sessions(h),
		checkup.Setups(setups))
	return checks, setups, nil
}

// takes is what burin takes from the setups of programs, as inventory.Take gives it.
type takes func() ([]inventory.Item, []string, error)

// serverOf is the address of the model that would answer; "" if there is none.
func serverOf(p *program, models *connect.Models) string {
	choice, err := models.Catalog.Resolver.Initial(catalog.Wish{})
	if err != nil {
		return ""
	}
	if own := p.getenv("ANTHROPIC_BASE_URL"); own != "" && choice.Model.Provider == "anthropic" {
		return own
	}
	return choice.Model.BaseURL
}

// terminalCheck looks what the terminal can show.
func (p *program) terminalCheck() checkup.Check {
	return checkup.Check{Name: "terminal", Run: func(context.Context) []checkup.Result {
		name := p.getenv("TERM")
		f := fileOf(p.out)
		switch {
		case f == nil || !term.IsTerminal(int(f.Fd())):
			return []checkup.Result{{State: checkup.Note, Text: "standard output is not a terminal"}}
		case name == "dumb" || name == "" && runtime.GOOS != "windows":
			return []checkup.Result{{State: checkup.Warning, Text: "TERM is " + cmp.Or(name, "not set"), Do: "set TERM to what your terminal is, such as xterm-256color"}}
		}
		out := []checkup.Result{{State: checkup.OK, Text: cmp.Or(name, "console")}}
		if width, height, err := term.GetSize(int(f.Fd())); err == nil {
			out[0].Text += fmt.Sprintf(", %d×%d", width, height)
		}
		if p.getenv("NO_COLOR") != "" {
			out[0].Text += ", no colors (NO_COLOR)"
		} else if c := p.getenv("COLORTERM"); c == "truecolor" || c == "24bit" {
			out[0].Text += ", 16 million colors"
		}
		locale := cmp.Or(p.getenv("LC_ALL"), p.getenv("LC_CTYPE"), p.getenv("LANG"))
		if low := strings.ToLower(locale); runtime.GOOS != "windows" && !strings.Contains(low, "utf-8") && !strings.Contains(low, "utf8") {
			out = append(out, checkup.Result{State: checkup.Warning, Text: "the locale is " + cmp.Or(locale, "not set") + ", without UTF-8", Do: "set LANG to a UTF-8 locale such as C.UTF-8, or symbolPreset: ascii"})
		}
		return out
	}}
}

// writeExamined shows the results, a line each, with what to do below.
func writeExamined(out io.Writer, e examined) {
	signs := map[checkup.State]string{checkup.OK: "ok", checkup.Note: "note", checkup.Warning: "warning", checkup.Problem: "PROBLEM"}
	const indent = "                   "
	fmt.Fprintf(out, "burin %s, %s\n\n", e.Version, e.System)
	warnings := 0
	for _, r := range e.Results {
		if r.State == checkup.Warning {
			warnings++
		}
		line := fmt.Sprintf("%-9s%-10s", signs[r.State], r.Check)
		fmt.Fprintln(out, line+strings.TrimLeft(fold(r.Text, helpWidth-len(indent), indent), " "))
		if r.Do != "" {
			fmt.Fprintln(out, indent+fold("→ "+r.Do, helpWidth-len(indent)-2, indent+"  "))
		}
	}
	switch {
	case e.Problems > 0: // the error says how many
		fmt.Fprintln(out)
	case warnings > 0:
		fmt.Fprintf(out, "\nburin works; %s.\n", prose.Count(warnings, "warning"))
	default:
		fmt.Fprintln(out, "\nAll is well.")
	}
}
