package memorize

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/customize/memory"
	"github.com/burin-dev/burin/internal/prose"
)

// merge takes new facts and notes into the files, in as many requests as they need.
func (u *update) merge(ctx context.Context) error {
	for range maxMerges {
		ids, facts, err := u.unmerged()
		if err != nil {
			return err
		}
		notes, mine, err := u.notes()
		if err != nil || len(ids) == 0 && notes+mine == "" {
			return err
		}
		err = u.mergeOnce(ctx, ids, facts, notes, mine)
		if errors.Is(err, errUnusable) {
			u.state.Failed++
			err = errors.Join(err, u.Memory.Project.SetState(u.state))
		}
		if err != nil {
			return fmt.Errorf("merge what is new: %w", err)
		}
	}
	return nil
}

// unmerged are sessions whose facts are not in the files yet, the oldest first, and the facts.
// Those of the oldest sessions beyond a limit are dropped once they are in the files.
func (u *update) unmerged() (ids []string, facts string, err error) {
	all := slices.SortedFunc(maps.Keys(u.state.Sessions), func(a, b string) int {
		return u.state.Sessions[a].Modified.Compare(u.state.Sessions[b].Modified)
	})
	all = slices.DeleteFunc(all, func(id string) bool { return !u.state.Sessions[id].Facts })
	var b strings.Builder
	for i, id := range all {
		seen := u.state.Sessions[id]
		if seen.Merged {
			if i < len(all)-memory.MaxRaw {
				seen.Facts = false
				u.state.Sessions[id] = seen
				err = errors.Join(err, u.Memory.Project.SetRaw(id, ""))
			}
			continue
		}
		text, problem := u.Memory.Project.Raw(id)
		if problem != nil {
			return nil, "", problem
		}
		if text == "" { // a person removed it
			seen.Facts = false
			u.state.Sessions[id] = seen
			continue
		}
		if b.Len() > 0 && b.Len()+len(text) > mergeBytes {
			break
		}
		b.WriteString(memory.Fence("facts", "", u.hidden(text)))
		ids = append(ids, id)
	}
	return ids, b.String(), err
}

// notes are what was added by hand, for the project and for the user.
func (u *update) notes() (project, user string, err error) {
	if project, err = u.Memory.Project.Notes(); err == nil {
		user, err = u.Memory.User.Notes()
	}
	return project, user, err
}

// parts are the stores, as paths of files in requests and answers begin.
func (u *update) parts() map[string]memory.Store {
	return map[string]memory.Store{"project": u.Memory.Project, "user": u.Memory.User}
}

func (u *update) mergeOnce(ctx context.Context, ids []string, facts, notes, mine string) error {
	u.tell("merging what is new")
	unlock, err := u.Memory.User.Await(ctx) // another project may be merging
	if err != nil {
		return err
	}
	defer unlock()
	base := map[string]map[string]string{}
	var prompt strings.Builder
	for _, part := range []string{"project", "user"} {
		files, err := u.parts()[part].Files()
		if err != nil {
			return err
		}
		base[part] = files
		for _, name := range slices.Sorted(maps.Keys(files)) {
			prompt.WriteString(memory.Fence("file", fmt.Sprintf("path=%q", part+"/"+name), files[name]))
		}
	}
	if prompt.Len() == 0 {
		prompt.WriteString("There are no files yet.\n")
	}
	prompt.WriteString("\nNew facts, the oldest first:\n\n" + facts)
	for _, n := range []struct{ scope, text string }{{"project", notes}, {"user", mine}} {
		if strings.TrimSpace(n.text) != "" {
			fmt.Fprintf(&prompt, "\nThe user asked to remember (%s):\n\n%s", n.scope, memory.Fence("facts", "", n.text))
		}
	}
	answer, err := u.ask(ctx, mergeWords, prompt.String(), mergeTokens)
	if err != nil {
		return err
	}
	next, err := files(answer, base)
	if err != nil {
		return err
	}
	for part, store := range u.parts() {
		if err := store.Replace(base[part], next[part], u.Now()); err != nil {
			return err
		}
		u.report.Merged = u.report.Merged || len(next[part]) > 0
	}
	for _, id := range ids {
		seen := u.state.Sessions[id]
		seen.Merged = true
		u.state.Sessions[id] = seen
	}
	u.state.Failed, u.state.Updated = 0, u.Now()
	return errors.Join(u.Memory.Project.SetState(u.state), u.Memory.Project.TakeNotes(notes), u.Memory.User.TakeNotes(mine))
}

var (
	written = regexp.MustCompile(`(?s)<file path="(project|user)/([^"]*)">(.*?)</file>`)
	deleted = regexp.MustCompile(`<delete path="(project|user)/(skills/[^"]*)"\s*/>`)
)

// files are the files of an answer, by part and name; "" removes one.
func files(answer string, base map[string]map[string]string) (map[string]map[string]string, error) {
	next := map[string]map[string]string{"project": {}, "user": {}}
	for _, m := range deleted.FindAllStringSubmatch(written.ReplaceAllString(answer, ""), -1) {
		if base[m[1]][m[2]] != "" {
			next[m[1]][m[2]] = ""
		}
	}
	found := written.FindAllStringSubmatch(answer, -1)
	if strings.Count(answer, "<file path=") != len(found) {
		return nil, fmt.Errorf("the model's answer is %w: a file in it has no end", errUnusable)
	}
	for _, m := range found {
		part, name, text := m[1], m[2], strings.TrimSpace(prose.Clean(m[3], 4))
		if err := memory.Check(name, text); err != nil {
			return nil, fmt.Errorf("the model's answer is %w: %w", errUnusable, err)
		}
		if text == "" {
			return nil, fmt.Errorf("the model's answer is %w: %s/%s is empty", errUnusable, part, name)
		}
		next[part][name] = text + "\n"
	}
	if len(found) == 0 && len(next["project"])+len(next["user"]) == 0 && strings.TrimSpace(answer) != "UNCHANGED" {
		return nil, fmt.Errorf("the model's answer is %w: it has no files; it begins with %q", errUnusable, prose.Row(answer, 60))
	}
	return next, nil
}
