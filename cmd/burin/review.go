package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/review"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// reviewFlags say what burin review does.
type reviewFlags struct {
	review.Options
	ask            askFlags
	format, failOn string
}

func reviewCommand(p *program) *cobra.Command {
	var f reviewFlags
	formats := []string{"text", "json", "sarif"}
	var concerns, severities []string
	for _, c := range review.Concerns() {
		concerns = append(concerns, c.Name)
	}
	for _, s := range review.Severities() {
		severities = append(severities, string(s))
	}
	cmd := &cobra.Command{
		Use:   "review [range, commit or pull request]",
		Short: "Have agents review changes",
		Long: `Have agents review changes: one for each concern, then others that verify what they found.
They read the repository and change nothing.

  burin review                 what isn't committed, or else the branch
  burin review main..HEAD      what HEAD has over main
  burin review 1a2b3c4         one commit
  burin review 42              a pull request, by number or address
  burin review --fail-on P1    exit with 4 if a finding is P0 or P1`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(formats, f.format) {
				return usage("--format: %q is not text, json or sarif", f.format)
			}
			what := ""
			if len(args) > 0 {
				what = args[0]
			}
			return reviewChanges(cmd.Context(), p, f, what)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.format, "format", "text", "text, json or sarif")
	fl.StringVar(&f.failOn, "fail-on", "", "exit with 4 if a finding is at least that severe: P0, P1, P2 or P3")
	fl.StringSliceVar(&f.Concerns, "concern", nil, "only these: correctness, security, upkeep")
	fl.StringVarP(&f.Hint, "message", "m", "", "what the agents should know about the changes")
	fl.StringVar(&f.ask.model, "model", "", "model to ask, with :level; by default that of the agent review")
	fl.StringVar(&f.ask.baseURL, "base-url", "", "server address, for a model that is not configured")
	fl.StringVar(&f.ask.api, "api", "", "wire format of --base-url")
	fl.Float64Var(&f.ask.maxCost, "max-cost", 0, "stop before the agents together have cost more dollars than that")
	for name, all := range map[string][]string{"format": formats, "fail-on": severities, "concern": concerns} {
		if err := cmd.RegisterFlagCompletionFunc(name, values(all...)); err != nil {
			panic(err) // the flag is there
		}
	}
	return cmd
}

func reviewChanges(ctx context.Context, p *program, f reviewFlags, what string) error {
	if err := f.ask.check(); err != nil {
		return err
	}
	var failOn review.Severity
	if f.failOn != "" {
		var err error
		if failOn, err = review.ParseSeverity(f.failOn); err != nil {
			return usage("--fail-on: %w", err)
		}
	}
	h, err := p.host(&f.ask)
	if err != nil {
		return err
	}
	defer p.closeHost(ctx, h)
	o := f.ask.wish()
	f.Tell = func(line string) {
		if p.isTerminal(p.err) { // nobody watches a log
			fmt.Fprintln(p.err, words.Line(line))
		}
	}
	report, err := host.ReviewChanges(ctx, h, host.Reviews{
		Options: f.Options, Range: what, Choice: o.Choice, Level: o.Thinking.Level, MaxUSD: llm.Dollars(f.ask.maxCost),
	})
	if err != nil {
		return err
	}
	if f.format == "text" {
		for _, n := range report.Notes {
			p.warn(words.Line(n))
		}
	}
	switch f.format {
	case "json":
		err = p.writeJSON(report)
	case "sarif":
		var log []byte
		if log, err = report.SARIF(version()); err == nil {
			_, err = fmt.Fprintf(p.out, "%s\n", log)
		}
	default:
		_, err = fmt.Fprint(p.out, report.Text(textWidth(p)))
	}
	switch {
	case err != nil || failOn == "":
		return err
	case report.AtLeast(failOn) > 0:
		return foundError{report.AtLeast(failOn), failOn}
	case report.Incomplete:
		return errors.New("the review is incomplete, so --fail-on can't tell: the notes say why")
	}
	return nil
}

// foundError says that a review found what --fail-on names.
type foundError struct {
	n        int
	severity review.Severity
}

func (e foundError) Error() string {
	return fmt.Sprintf("%s at %s or worse (--fail-on)", prose.Count(e.n, "finding"), e.severity)
}

// textWidth is how wide text for people is.
func textWidth(p *program) int {
	const usual, most = 96, 110
	if !p.isTerminal(p.out) {
		return usual
	}
	width, _, err := term.GetSize(int(fileOf(p.out).Fd()))
	if err != nil || width <= 0 {
		return usual
	}
	return min(width, most)
}
