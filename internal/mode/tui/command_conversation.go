package tui

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/tree"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
)

// conversation are the commands about the session that is shown.
type conversation struct {
	*base
	*current
	show     *appearance
	facts    *facts
	panes    *panes
	composer *composer
	work     *work
	brake    *brake
	drop     func(string) // deletes the session
}

// sessionCommand shows facts about the session, or deletes it.
func (cv *conversation) sessionCommand(what string) {
	switch what {
	case "", "info":
		cv.sessionInfo()
	case "delete":
		if cv.work.on || cv.work.busy != "" {
			cv.notice(card.Warning, "The session is working; "+cv.keyFor(key.Interrupt)+" stops it.")
			return
		}
		cv.drop("")
	default:
		cv.notice(card.Warning, "/session: unknown argument "+prose.Line(what)+" (want delete, or nothing for the facts)")
	}
}

// sessionInfo shows facts about the session.
func (cv *conversation) sessionInfo() {
	s := cv.session
	st := s.Stats()
	path, ok := s.Path()
	if !ok {
		path = either(st.Requests == 0, "not saved yet: no answer so far", "not kept")
	}
	cost := st.Cost.String()
	switch {
	case !st.Known && st.Cost == 0:
		cost = "unknown"
	case !st.Known:
		cost = "at least " + cost + ", the price of some requests is unknown"
	}
	window := thousands(st.Context) + " tokens"
	if st.Window > 0 {
		window = thousands(st.Context) + " of " + thousands(st.Window) + " tokens"
	}
	cv.panes.reportFacts("This session", [][2]string{
		{"title", st.Title},
		{"id", s.Log().ID()},
		{"file", cv.homePath(path)},
		{"folder", cv.homePath(cv.dir)},
		{"model", st.Model},
		{"thinking", string(st.Thinking)},
		{"mode", s.Mode()},
		{"entries", thousands(st.Entries)},
		{"requests", thousands(st.Requests)},
		{"tokens", fmt.Sprintf("%s in, %s from the cache, %s out", thousands(st.Usage.Prompt()), thousands(st.Usage.CacheRead), thousands(st.Usage.Output))},
		{"cost", cost},
		{"window", window},
		{"cache", cacheWords(cv.facts.cache)},
		{"goal", goalFact(s.Goal())},
	})
}

func (cv *conversation) rename(title string) {
	if title == "" {
		s := cv.session
		cv.panes.askLine("Name this session", cv.facts.status.Title, func(text string) {
			if cv.still(s) {
				s.SetTitle(text)
			}
		})
		return
	}
	cv.session.SetTitle(title)
}

func (cv *conversation) compact(instructions string) {
	s := cv.session
	cv.work.ahead("condensing the conversation", func(ctx context.Context) (func(), error) {
		err := s.Conversation().Compact(ctx, instructions)
		if errors.Is(err, compact.ErrNothing) {
			return func() { cv.notice(card.Info, "Nothing to compact yet.") }, nil
		}
		return nil, err
	})
}

func (cv *conversation) shake(kind string) {
	s := cv.session
	if kind == "elide" { // as the family calls it
		kind = session.ShakeBulk
	}
	cv.work.ahead("removing old outputs", func(ctx context.Context) (func(), error) {
		freed, err := s.Conversation().Shake(ctx, kind)
		return func() {
			if freed == 0 {
				cv.notice(card.Info, "Nothing to remove.")
				return
			}
			cv.notice(card.Info, fmt.Sprintf("Freed about %s tokens.", prose.Tokens(freed)))
			cv.facts.read()
		}, err
	})
}

func (cv *conversation) pin(words string) {
	if words == "" {
		cv.notice(card.Info, "Say what the model must not forget: /pin never touch the generated files")
		return
	}
	if err := cv.session.pin(words, true); err != nil {
		cv.sayError(err)
		return
	}
	cv.notice(card.Info, "Pinned: "+prose.Line(words))
}

// unpin takes back the one pin that has the words, or shows the pins to choose from.
func (cv *conversation) unpin(words string) {
	s := cv.session
	pins := s.Pins()
	take := func(text string) {
		if err := s.pin(text, false); err != nil {
			cv.sayError(err)
			return
		}
		cv.notice(card.Info, "No longer pinned: "+prose.Short(text, 200))
	}
	var items []list.Item
	fits := -1
	for i, p := range pins {
		items = append(items, list.Item{ID: fmt.Sprint(i), Label: prose.Short(p, 200), Search: p})
		switch {
		case words == "" || !strings.Contains(strings.ToLower(p), strings.ToLower(words)):
		case fits < 0:
			fits = i
		default:
			fits = len(pins) // several
		}
	}
	if fits >= 0 && fits < len(pins) {
		take(pins[fits])
		return
	}
	var p *list.List
	p = list.New(cv.env, list.Options{
		Title: "Pinned", Items: items, Query: words, Hint: "Enter unpins it",
		Empty: "Nothing is pinned. /pin keeps text in the model's sight, even after condensing.", NoMatch: "No pin matches.",
		OnChoose: func(id string) {
			cv.panes.remove(p)
			if i, err := strconv.Atoi(id); err == nil && cv.still(s) {
				take(pins[i])
			}
		},
		OnCancel: func() { cv.panes.remove(p) },
	})
	cv.panes.push(p)
}

// openTree shows the branches of the session.
func (cv *conversation) openTree(string) {
	s := cv.session
	var t *tree.Tree
	t = tree.New(cv.env, tree.Options{
		Log: s.Log(), Filter: tree.Filter(cv.show.treeFilter), AskSummary: cv.show.branchSummary,
		OnSelect: func(id string, o session.Navigation) {
			t.Close()
			cv.panes.remove(t)
			if cv.still(s) {
				cv.navigate(id, o)
			}
		},
		OnLabel: func(id, label string) {
			if err := s.SetLabel(id, label); err != nil {
				cv.sayError(err)
			}
			t.Refresh()
		},
		OnCancel: func() { t.Close(); cv.panes.remove(t) },
	})
	cv.panes.push(t)
}

// navigate moves in the tree. What runs is stopped first.
func (cv *conversation) navigate(id string, o session.Navigation) {
	if cv.work.on {
		cv.brake.stop()
		cv.notice(card.Warning, "Stopped. Choose the point again.")
		return
	}
	what := "moving"
	if o.Summarize {
		what = "summarizing the other branch"
	}
	s := cv.session
	cv.work.ahead(what, func(ctx context.Context) (func(), error) {
		words, err := s.Tree().Navigate(ctx, id, o)
		return func() { cv.composer.giveBack(words) }, err
	})
}

// cacheWords say what the vendor's cache did for the last request.
func cacheWords(c *session.CacheInfo) string {
	switch {
	case c == nil || c.Read+c.Write+c.Fresh == 0:
		return ""
	case c.Missed != "":
		return fmt.Sprintf("%s tokens of the last request read, %s not; missed: %s", thousands(c.Read), thousands(c.Fresh), c.Missed)
	}
	return fmt.Sprintf("%s tokens of the last request read, %s written, %s neither", thousands(c.Read), thousands(c.Write), thousands(c.Fresh))
}

// thousands is a number with its digits in groups.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
