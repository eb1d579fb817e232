package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/shell"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
)

// Run implements [session.Ground].
func (g ground) Run(ctx context.Context, line string, journal bool, output func(string)) (session.CommandResult, error) {
	b := g.seat
	if b.shells == nil {
		return session.CommandResult{}, errors.ErrUnsupported
	}
	var out *shell.Outcome
	run := func() (err error) {
		out, err = b.shells.Own(ctx, line, output)
		return err
	}
	var err error
	// What a line of another shell than bash changes is not known before it runs.
	if journal && !(b.shells.PersonIsBash() && permission.ReadOnly(line)) {
		_, err = b.ws.Watch(ctx, run)
	} else {
		err = run()
	}
	b.cache.Invalidate(b.dir)
	if out == nil {
		return session.CommandResult{}, err
	}
	if err != nil { // the command ran, the journal could not follow
		b.Warn("what this command changed cannot be undone: " + err.Error())
	}
	r := session.CommandResult{
		Output: out.Output.Text, ExitCode: out.ExitCode, Cancelled: out.Cancelled, Truncated: out.Output.Truncated, Dir: out.Dir,
	}
	if out.Output.Artifact != "" {
		r.Artifact = "artifact://" + out.Output.Artifact
	}
	if notice := out.Output.Notice(); notice != "" {
		r.Output = strings.TrimSuffix(r.Output, "\n") + "\n" + notice
	}
	return r, nil
}

// jobs are the background jobs of a session.
type jobs struct{ seat *seat }

// List implements [session.Jobs].
func (js jobs) List(context.Context) ([]session.Job, error) {
	b := js.seat
	var all []session.Job
	for _, j := range b.shells.Jobs() {
		one := session.Job{ID: j.ID(), Command: j.Command().Line, Started: j.Started(), LastLine: lastLine(j.Output().Text)}
		if o := j.Outcome(); o != nil {
			one.ExitCode = o.ExitCode
		} else {
			one.Running = true
		}
		all = append(all, one)
	}
	return all, nil
}

// Kill implements [session.Jobs].
func (js jobs) Kill(_ context.Context, id string) error {
	b := js.seat
	j, err := b.job(id)
	if err != nil {
		return err
	}
	j.Kill()
	b.cache.Invalidate(b.dir)
	return nil
}

// Output implements [session.Jobs].
func (js jobs) Output(_ context.Context, id string) (string, error) {
	b := js.seat
	j, err := b.job(id)
	if err != nil {
		return "", err
	}
	return j.Output().Text, nil
}

func (b *seat) job(id string) (*shell.Job, error) {
	if j, ok := b.shells.Job(id); ok {
		return j, nil
	}
	return nil, fmt.Errorf("job %q has ended", id)
}

// lastLine is the last line of a text that says something, cut for a list.
func lastLine(text string) string {
	const most = 200
	text = strings.TrimSpace(text)
	line := text[strings.LastIndexByte(text, '\n')+1:]
	return prose.Cut(line, most)
}
