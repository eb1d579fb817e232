package checkup

import (
	"context"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/host/inventory"
	"github.com/burin-dev/burin/internal/prose"
)

// Setups says what burin takes from which program, and why it doesn't take the rest. A result
// has the id of its program as its name.
func Setups(take func() ([]inventory.Item, []string, error)) Check {
	return Check{Name: "setup", Run: func(context.Context) []Result {
		items, rest, err := take()
		if err != nil {
			return one(Note, "not looked at: settings say what is off; see settings", "")
		}
		var out []Result
		for len(items) > 0 {
			n := 1
			for n < len(items) && alike(items[0], items[n]) {
				n++
			}
			out = append(out, told(items[:n]))
			items = items[n:]
		}
		for _, w := range rest {
			out = append(out, Result{State: Warning, Text: w})
		}
		if out == nil {
			return one(Note, "nothing found", "")
		}
		return out
	}}
}

// alike reports whether two items are told in one line.
func alike(a, b inventory.Item) bool {
	return a.Owner == b.Owner && a.Kind == b.Kind && a.State == b.State && a.State != inventory.Invalid && a.Why == b.Why &&
		(a.State == inventory.Used || a.Path == b.Path || a.Kind == source.Extensions)
}

// told is what a person reads about items that are alike.
func told(items []inventory.Item) Result {
	const most = 10 // names
	i := items[0]
	where := i.Path
	if i.Line > 0 {
		where = fmt.Sprintf("%s:%d", i.Path, i.Line)
	}
	names := make([]string, 0, len(items))
	for _, other := range items {
		names = append(names, prose.Short(other.Name, 80))
	}
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", n))
	}
	r := Result{Check: i.Source, State: Note, Text: fmt.Sprintf("%s: %s: %s", i.Owner, i.Kind, strings.Join(names, ", "))}
	switch i.State {
	case inventory.Used:
		r.State = OK
	case inventory.Invalid:
		return Result{Check: i.Source, State: Warning, Text: where + ": " + i.Why}
	case inventory.Untrusted:
		r.Text += ": " + i.Why
		r.Do = "burin trust shows what it does; burin trust --allow " + where + " trusts it"
	case inventory.Shadowed:
		r.Text = where + " is not used: " + i.Why
	case inventory.Off:
		r.Text += ": " + i.Why
	case inventory.Unused:
		r.Text += ": not used"
		if i.Kind.Used() {
			r.Text += ": " + i.Why + " (" + where + ")"
			break
		}
		if i.Kind != source.Settings {
			r.Text += " yet"
		}
		if i.Kind != source.Extensions {
			r.Text += " (" + where + ")"
		}
		if i.Why != "" {
			r.Text += "; " + i.Why
		}
	}
	return r
}
