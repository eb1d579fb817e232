package project

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode"

	"github.com/burin-dev/burin/internal/chat/chatfile"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/export"
)

// Export writes all that a person has here into an archive: a folder for each project, with its settings, its
// files, and three files for each chat and for each agent that worked for one: the one in JSONL is a session that burin
// opens. Of projects of others there are the person's own chats. What is in the trash is in it; deleted files and old
// versions of files are not. In memory are a file, or the texts of a chat, at a time. What is changed meanwhile is in
// it as it is when it is its turn.
func Export(ctx context.Context, s *Store, person string, to *zip.Writer) error {
	set, err := PreferencesOf(ctx, s, person)
	if err == nil && (set.Revision > 0 || set.Unreadable != "") {
		err = WriteJSON(to, "preferences.json", set)
	}
	if err != nil {
		return err
	}
	all, err := idsOf(ctx, s.db, `{projects}`, person)
	for _, id := range all {
		if err == nil {
			err = exportProject(ctx, s, person, id, to)
		}
	}
	if err == nil {
		err = exportShared(ctx, s, person, to)
	}
	if err != nil {
		return fmt.Errorf("export the projects: %w", err)
	}
	return nil
}

// exportShared writes the chats that a person has in projects of others.
func exportShared(ctx context.Context, s *Store, person string, to *zip.Writer) error {
	rows, err := s.db.Query(ctx, `SELECT DISTINCT c.project FROM {chats} c JOIN {projects} p ON p.id = c.project WHERE c.person = ?1 AND p.person <> ?1 ORDER BY 1`, person)
	if err != nil {
		return err
	}
	all, err := scanIDs(rows)
	for _, id := range all {
		if err != nil {
			return err
		}
		p, failed := s.Project(ctx, person, id)
		if failed != nil { // the owner's keys are locked, or it can't be opened: the chats are the person's
			p.Name = ""
		}
		err = exportChats(ctx, s, person, id, path.Join("shared", fileName(p.Name, id)), to)
	}
	return err
}

func exportProject(ctx context.Context, s *Store, person, id string, to *zip.Writer) error {
	p, err := s.Project(ctx, person, id)
	if errors.Is(err, ErrUnknown) { // it was purged meanwhile
		return nil
	}
	if why := whyUnreadable(err); why != "" { // its file says so; its chats may be fine
		p.Settings, p.Unreadable, err = Settings{}, why, nil
	}
	if err != nil {
		return err
	}
	folder := path.Join("projects", fileName(p.Name, id))
	if err := WriteJSON(to, path.Join(folder, "project.json"), p); err != nil {
		return err
	}
	ring, err := s.keys.Ring(ctx, person)
	if err == nil { // those of a project in the trash, too
		err = vfs.ExportInto(ctx, s.files.Tree(id, ring), to, path.Join(folder, "files"))
	}
	if err != nil && !errors.Is(err, vfs.ErrProject) {
		return err
	}
	return exportChats(ctx, s, person, id, folder, to)
}

// exportChats writes the chats of a person in a project.
func exportChats(ctx context.Context, s *Store, person, id, folder string, to *zip.Writer) error {
	rows, err := s.db.Query(ctx, `SELECT id FROM {chats} WHERE person = ?1 AND project = ?2 ORDER BY created, id`, person, id)
	if err != nil {
		return err
	}
	chats, err := scanIDs(rows)
	for _, chat := range chats {
		if err == nil {
			err = exportChat(ctx, s, person, chat, path.Join(folder, "chats"), to)
		}
	}
	return err
}

func exportChat(ctx context.Context, s *Store, person, id, folder string, to *zip.Writer) error {
	c, err := s.Chat(ctx, person, id)
	if errors.Is(err, ErrUnknown) {
		return nil
	}
	if why := whyUnreadable(err); why != "" { // the transcript has keys of its own
		c.About, c.Unreadable, err = About{}, why, nil
	}
	if err != nil {
		return err
	}
	name := path.Join(folder, fileName(c.Title, id))
	if err := WriteJSON(to, name+".json", c); err != nil {
		return err
	}
	if err := exportMinions(ctx, s, person, c, path.Join(path.Dir(folder), "agents", path.Base(name)), to); err != nil {
		return err
	}
	l, err := s.View(ctx, person, c, transcript.Options{})
	if errors.Is(err, fs.ErrNotExist) { // nothing was said
		return nil
	}
	if err != nil {
		return err
	}
	return exportLog(l, to, name, c.Title)
}

// exportLog writes a transcript in two forms, and closes it.
func exportLog(l *transcript.Log, to *zip.Writer, name, title string) error {
	defer l.Close()
	page, err := exportSession(l, to, name+".jsonl")
	if err != nil {
		return err
	}
	page.Title, page.Leaf = title, l.Leaf()
	w, err := to.Create(name + ".md")
	if err == nil {
		err = export.Markdown(w, page)
	}
	return err
}

// exportMinions writes the agents of a chat into a folder of their own: what is known of each, and what it said.
func exportMinions(ctx context.Context, s *Store, person string, c Chat, folder string, to *zip.Writer) error {
	agents := MinionsOf(s, person, c)
	rows, err := minionRows(ctx, s, c.ID)
	if err != nil || len(rows) == 0 {
		return err
	}
	ring, err := s.keys.Ring(ctx, person)
	if err != nil {
		return err
	}
	for _, r := range rows {
		name := path.Join(folder, r.id)
		var facts any = struct {
			Unreadable string `json:"unreadable"`
		}{ForDamage}
		if data, err := ring.Open(place("minions", agents.place(r.id)), r.sealed); err == nil && json.Valid(data) {
			facts = json.RawMessage(data)
		} else if errors.Is(err, vault.ErrLocked) {
			return err
		}
		if err := WriteJSON(to, name+".json", facts); err != nil {
			return err
		}
		l, err := agents.View(ctx, r.id)
		if errors.Is(err, fs.ErrNotExist) { // it never answered
			continue
		}
		if err != nil {
			return err
		}
		if err := exportLog(l, to, name, r.id); err != nil {
			return err
		}
	}
	return nil
}

// Forms of a chat as a file.
const (
	FormJSON     = "json"     // that of package chatfile
	FormMarkdown = "markdown" // to read
)

// WriteChat writes a chat as a file, in one of the forms.
func WriteChat(ctx context.Context, s *Store, person string, c Chat, form string, w io.Writer) error {
	if form == FormJSON {
		f, err := ChatFile(ctx, s, person, c)
		if err != nil {
			return err
		}
		return chatfile.Write(w, f)
	}
	page := export.Page{Title: c.Title}
	l, err := s.View(ctx, person, c, transcript.Options{})
	switch {
	case errors.Is(err, fs.ErrNotExist): // nothing was said
		page.Header.ID = c.ID
		return export.Markdown(w, page)
	case err != nil:
		return err
	}
	defer l.Close()
	page.Header, page.Leaf = l.Header(), l.Leaf()
	for e, err := range l.All() {
		if err != nil {
			return err
		}
		page.Entries = append(page.Entries, textOf(e))
	}
	return export.Markdown(w, page)
}

// FileName is the name of a chat's file, without its ending.
func FileName(c Chat) string { return fileName(c.Title, c.ID) }

// BundleName is the name of a project's file.
func BundleName(p *Project) string { return fileName(p.Name, "") + ".zip" }

// WriteChats writes the chats of a project that are not in the trash into an archive, each in both forms.
func WriteChats(ctx context.Context, s *Store, person, project string, to *zip.Writer) error {
	rows, err := s.db.Query(ctx, `SELECT id FROM {chats} WHERE person = ?1 AND project = ?2 AND trashed = 0 AND temporary = 0 ORDER BY created, id`, person, project)
	if err != nil {
		return err
	}
	ids, err := scanIDs(rows)
	for _, id := range ids {
		if err != nil {
			break
		}
		var c Chat
		c, err = s.Chat(ctx, person, id)
		if errors.Is(err, ErrUnknown) { // it was purged meanwhile
			err = nil
			continue
		}
		if why := whyUnreadable(err); why != "" {
			c.About, c.Unreadable, err = About{}, why, nil
		}
		for form, ending := range map[string]string{FormJSON: ".json", FormMarkdown: ".md"} {
			var w io.Writer
			if err == nil {
				w, err = to.Create(FileName(c) + ending)
			}
			if err == nil {
				err = WriteChat(ctx, s, person, c, form, w)
			}
		}
	}
	return err
}

// WriteProject writes a project into an archive that [OpenArchive] reads, as one of an account, and [ImportArchive] makes a new
// project of: its settings and its files as they are. Not in it are who has it, its id, chats, deleted files and old versions.
func WriteProject(ctx context.Context, s *Store, person, id string, to *zip.Writer) error {
	p, err := s.Project(ctx, person, id)
	if err != nil {
		return err
	}
	tree, err := s.Files(ctx, person, id)
	if err != nil {
		return err
	}
	p.Source = ""
	folder := path.Join("projects", fileName(p.Name, ""))
	if err := WriteJSON(to, path.Join(folder, "project.json"), p.Settings); err != nil {
		return err
	}
	return vfs.ExportInto(ctx, tree, to, path.Join(folder, "files"))
}

// exportSession writes a transcript as a session file, and gives its texts.
func exportSession(l *transcript.Log, to *zip.Writer, name string) (page export.Page, err error) {
	page.Header = l.Header()
	record, err := l.HeaderRecord()
	if err != nil {
		return page, err
	}
	w, err := to.Create(name)
	if err != nil {
		return page, err
	}
	line := func(record []byte) error {
		_, err := w.Write(append(record[:len(record):len(record)], '\n'))
		return err
	}
	if err := line(record); err != nil {
		return page, err
	}
	for e, err := range l.All() {
		if err == nil {
			err = line(e.Raw)
		}
		if err != nil {
			return page, err
		}
		page.Entries = append(page.Entries, textOf(e))
	}
	return page, nil
}

// textOf is an entry without its record and its pictures.
func textOf(e *transcript.Entry) transcript.Entry {
	is := *e
	is.Raw = nil
	if e.Message == nil {
		return is
	}
	m := *e.Message
	m.Content = make([]llm.Block, len(e.Message.Content))
	for i, b := range e.Message.Content {
		switch b.(type) {
		case llm.Image:
			b = llm.Text{Text: "[picture]"}
		case llm.Document:
			b = llm.Text{Text: "[document]"}
		}
		m.Content[i] = b
	}
	is.Message = &m
	return is
}

// WriteJSON writes a file of JSON into an archive.
func WriteJSON(to *zip.Writer, name string, v any) error {
	w, err := to.Create(name)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(v)
}

// fileName is a name of something that all systems take, and that nothing else has.
func fileName(name, id string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" -_", r) {
			return r
		}
		return '_'
	}, prose.Head(name, 60))
	return strings.TrimSpace(name + " " + id)
}
