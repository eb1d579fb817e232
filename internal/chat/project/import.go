package project

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/chatfile"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

const (
	maxNamed    = 100     // chats of a report with what is wrong with them
	importBatch = 1 << 20 // bytes of records that are written at a time
)

// Imported says what became of a file with chats.
type Imported struct {
	Chats    int `json:"chats"`    // that came in
	Messages int `json:"messages"` // in them
	There    int `json:"there"`    // chats that were there already
	Failed   int `json:"failed"`   // chats that can't be read or kept
	Omitted  int `json:"omitted"`  // parts of messages that have no counterpart: calls of tools, hidden prompts, thoughts
	// Failures say why, for the first 100 of them.
	Failures []ImportFailure `json:"failures"`
	Project  string          `json:"project"` // where they are; of an archive of an account the first one
	// Of an archive of an account: projects that were made, files that came, and chats that were in the trash and don't come.
	Projects int `json:"projects,omitempty"`
	Files    int `json:"files,omitempty"`
	Trashed  int `json:"trashed,omitempty"`
}

// ImportFailure is a chat that didn't come in.
type ImportFailure struct {
	Number int    `json:"number"` // of the chat in the file, from 1
	Title  string `json:"title,omitempty"`
	Reason string `json:"reason"`
}

// Import brings in the chats of a file; project "" is the default one. A chat is there already if it was imported before,
// or comes from here, and isn't in the trash. progress is told after each chat. If the error isn't nil, what came in
// before it stays, and is in the report.
func Import(ctx context.Context, s *Store, person, project string, f *chatfile.File, progress func(done int)) (is Imported, err error) {
	if project == "" {
		p, err := s.Default(ctx, person)
		if err != nil {
			return is, err
		}
		project = p.ID
	} else if p, err := s.Project(ctx, person, project); err != nil {
		return is, err
	} else if !p.Trashed.IsZero() {
		return is, ErrTrashed
	}
	is.Project, is.Failures = project, []ImportFailure{}
	there, err := sources(ctx, s, person)
	if err != nil {
		return is, err
	}
	defer Changed(s, person)
	err = f.All(func(n int, c chatfile.Chat, wrong error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if from := sourceOf(&c); wrong == nil && there[from] {
			is.There++
		} else {
			if wrong == nil {
				wrong = importChat(ctx, s, person, project, from, &c)
			}
			if wrong != nil && (store.Failed(wrong) || ctx.Err() != nil) {
				return wrong
			}
			is.count(n, &c, wrong)
			there[from] = there[from] || wrong == nil
		}
		progress(n)
		return nil
	})
	return is, err
}

func (is *Imported) count(n int, c *chatfile.Chat, wrong error) {
	if wrong == nil {
		is.Chats++
		is.Messages += len(c.Messages)
		is.Omitted += c.Omitted
		return
	}
	is.Failed++
	if len(is.Failures) < maxNamed {
		is.Failures = append(is.Failures, ImportFailure{n, plainName(c.Title), prose.Plain(wrong.Error(), 300)})
	}
}

// sourceOf names a chat of a file, the same each time.
func sourceOf(c *chatfile.Chat) string {
	id := c.ID
	if id == "" || len(id) > 100 {
		data, _ := json.Marshal(c) // of texts and times
		sum := sha256.Sum256(data)
		id = hex.EncodeToString(sum[:16])
	}
	return c.Kind + ":" + strings.ToValidUTF8(id, "_")
}

// sources are where the chats of a person come from, those in the trash not, and themselves as burin's.
func sources(ctx context.Context, s *Store, person string) (map[string]bool, error) {
	ring, err := s.keys.Ring(ctx, person)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, `SELECT `+chatColumns+` FROM {chats} WHERE person = ?1 AND trashed = 0 AND temporary = 0
		AND `+inProject, person)
	if err != nil {
		return nil, fmt.Errorf("look for what was imported: %w", err)
	}
	defer rows.Close()
	all := map[string]bool{}
	for rows.Next() {
		c, err := scanChat(rows, ring)
		if err != nil && whyUnreadable(err) == "" { // what can't be opened is there as itself
			return nil, fmt.Errorf("look for what was imported: %w", err)
		}
		all[chatfile.Burin+":"+c.ID] = true
		if c.Source != "" {
			all[c.Source] = true
		}
	}
	return all, rows.Err()
}

// importChat keeps a chat. It is in no list before it is whole.
func importChat(ctx context.Context, s *Store, person, project, source string, c *chatfile.Chat) error {
	about := About{Title: plainName(c.Title), Source: source, Pinned: c.Pinned, Archived: c.Archived, Folder: plainName(c.Folder)}
	for _, tag := range c.Tags {
		if tag = plainName(tag); tag != "" && len(about.Tags) < 50 {
			about.Tags = append(about.Tags, tag)
		}
	}
	about.Seen = s.now()
	return keepImported(ctx, s, person, project, about, c.Created, c.Modified, func(to Chat, created time.Time) error {
		return writeImported(ctx, s, person, to, c, created)
	})
}

// keepImported makes a chat whose transcript write writes.
func keepImported(ctx context.Context, s *Store, person, project string, about About, begun, changed time.Time, write func(to Chat, created time.Time) error) error {
	to, err := NewTemporaryChat(ctx, s, person, project, about)
	if err != nil {
		return err
	}
	now := millis(s.now())
	created, modified := min(millis(begun), now), min(millis(changed), now)
	if begun.IsZero() {
		created = now
	}
	if changed.IsZero() {
		modified = now
	}
	if err = write(to, at(created)); err == nil {
		_, err = s.db.Exec(ctx, `UPDATE {chats} SET temporary = 0, created = ?2, modified = ?3, indexed = -1, entries = 0 WHERE id = ?1`, to.ID, created, modified)
	}
	if err != nil {
		late := context.WithoutCancel(ctx)
		return errors.Join(err, s.TrashChat(late, person, to.ID, true), s.PurgeChat(late, person, to.ID))
	}
	return nil
}

// plainName is a name that a file gives, as it is kept.
func plainName(name string) string {
	return strings.TrimSpace(prose.Head(prose.Plain(name, maxName), maxName))
}

// writeImported writes the transcript of a chat: with the times of the messages, on the branches that they have.
func writeImported(ctx context.Context, s *Store, person string, to Chat, c *chatfile.Chat, created time.Time) error {
	clock := created
	records := &transcript.Memory{}
	l, err := transcript.Create(records, transcript.Header{ID: to.ID}, transcript.Options{
		Now:   func() time.Time { return clock },
		Blobs: transcript.KeptBy(&kept{store: s, person: person, chat: to.ID}),
	})
	if err != nil {
		return err
	}
	ids := make(map[string]string, len(c.Messages))
	for i := range c.Messages {
		m := &c.Messages[i]
		if !m.Time.IsZero() {
			clock = m.Time
		}
		said := &llm.Message{Role: llm.RoleUser, Time: clock, Content: []llm.Block{llm.Text{Text: m.Said()}}}
		if m.Role == "assistant" {
			// Without a provider: the name says who spoke, and chooses no model for what follows.
			said.Role, said.Model, said.StopReason = llm.RoleAssistant, plainName(m.Model), llm.StopEnd
		}
		if err := l.Move(ids[m.Parent]); err != nil {
			return err
		}
		if ids[m.ID], err = l.Append(transcript.Entry{Type: transcript.TypeMessage, Message: said}); err != nil {
			return err
		}
	}
	if err := errors.Join(l.Move(ids[c.Current]), l.Close()); err != nil {
		return err
	}
	return writeRecords(ctx, s, person, to, records)
}

// writeRecords writes the records of a new chat, sealed.
func writeRecords(ctx context.Context, s *Store, person string, to Chat, records *transcript.Memory) error {
	below, err := s.begin(ctx, to)
	if err != nil {
		return err
	}
	above, err := s.unseal(ctx, person, to)(below)
	if err != nil {
		return errors.Join(err, below.Close())
	}
	return errors.Join(copyRecords(records, above), above.Close())
}

func copyRecords(from *transcript.Memory, to transcript.Store) error {
	var batch [][]byte
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		_, err := to.Append(batch...)
		batch, size = nil, 0
		return err
	}
	err := from.Records(func(_ transcript.Ref, record []byte) error {
		batch, size = append(batch, record), size+len(record)
		if size < importBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		err = to.Sync()
	}
	return err
}

// ChatFile gives a chat in the form in which burin writes it to a file: what people and models said, on all branches.
// Thoughts, what tools did and what is attached aren't in it, but the names of attached files are.
func ChatFile(ctx context.Context, s *Store, person string, c Chat) (chatfile.Chat, error) {
	is := chatfile.Chat{
		ID: c.ID, Title: c.Title, Created: c.Created.UTC(), Modified: c.Modified.UTC(), Pinned: c.Pinned, Archived: c.Archived, Tags: c.Tags, Folder: c.Folder,
		Messages: []chatfile.Message{}, Kind: chatfile.Burin,
	}
	l, err := s.View(ctx, person, c, transcript.Options{})
	if errors.Is(err, fs.ErrNotExist) { // nothing was said
		return is, nil
	}
	if err != nil {
		return is, err
	}
	defer l.Close()
	above := map[string]string{} // the message at or above each entry
	for e, err := range l.All() {
		if err != nil {
			is.Omitted++
			continue
		}
		parent := ""
		if e.ParentID != nil {
			parent = above[*e.ParentID]
		}
		above[e.ID] = parent
		m, omitted := messageOf(e)
		is.Omitted += omitted
		if m == nil {
			continue
		}
		m.ID, m.Parent = e.ID, parent
		above[e.ID] = e.ID
		is.Messages = append(is.Messages, *m)
	}
	is.Current = above[l.Leaf()]
	return is, nil
}

// messageOf is what an entry says, nil if nothing, and how many parts of it have no place in a file.
func messageOf(e *transcript.Entry) (said *chatfile.Message, omitted int) {
	if e.Type == transcript.TypeCompaction || e.Type == transcript.TypeBranchSummary {
		return nil, 1
	}
	if e.Message == nil {
		return nil, 0
	}
	if e.Message.Role != llm.RoleUser && e.Message.Role != llm.RoleAssistant {
		return nil, int(count(e.Message.Role == llm.RoleToolResult))
	}
	said = &chatfile.Message{Role: string(e.Message.Role), Time: e.Time()}
	for _, b := range e.Message.Content {
		switch b := b.(type) {
		case llm.Text:
			if said.Text != "" && b.Text != "" {
				said.Text += "\n\n"
			}
			said.Text += b.Text
		case llm.Image:
			said.Files = append(said.Files, "picture")
		case llm.Document:
			said.Files = append(said.Files, cmp.Or(b.Name, "document"))
		default:
			omitted++
		}
	}
	if said.Role == string(llm.RoleAssistant) {
		said.Model = e.Message.Model
		if e.Message.Provider != "" {
			said.Model = e.Message.Provider + "/" + said.Model
		}
	}
	if said.Text == "" && len(said.Files) == 0 {
		return nil, omitted
	}
	return said, omitted
}
