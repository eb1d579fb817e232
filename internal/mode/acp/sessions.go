package acp

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/customize/mcpserver"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

const (
	// closeWait is how long a closing session may take to stop its turn.
	closeWait = 5 * time.Second
	// listPage is the number of sessions on a page of session/list.
	listPage = 50
)

// newSession starts a session.
func (a *face) newSession(params json.RawMessage) (proto.Work, error) {
	p, err := read[proto.SessionRequest](params)
	if err != nil {
		return nil, err
	}
	return func(context.Context) (any, error) {
		l, err := a.open(p, "")
		if err != nil {
			return nil, err
		}
		r := l.described()
		r.SessionID = l.id
		return proto.Then{Result: r, Do: l.start}, nil
	}, nil
}

// loadSession opens an existing session and sends its conversation.
func (a *face) loadSession(params json.RawMessage) (proto.Work, error) {
	return a.reopen(params, func(ctx context.Context, l *live) error { return l.replay(ctx) })
}

// resumeSession opens an existing session without sending its conversation.
func (a *face) resumeSession(params json.RawMessage) (proto.Work, error) {
	return a.reopen(params, func(context.Context, *live) error { return nil })
}

// reopen opens an existing session. If it is open here, it is closed first: a client that loads
// it has lost track of it.
func (a *face) reopen(params json.RawMessage, ready func(context.Context, *live) error) (proto.Work, error) {
	p, err := read[proto.SessionRequest](params)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		if l := a.forget(p.SessionID); l != nil {
			a.close(l)
		}
		file, err := a.find(ctx, p)
		if err != nil {
			return nil, err
		}
		l, err := a.open(p, file)
		if err != nil {
			return nil, err
		}
		if err := ready(ctx, l); err != nil {
			a.forget(l.id)
			a.close(l)
			return nil, err
		}
		return proto.Then{Result: l.described(), Do: l.start}, nil
	}, nil
}

// find returns the file of a session. The id must be complete: the client got it from burin.
func (a *face) find(ctx context.Context, p *proto.SessionRequest) (string, error) {
	if p.SessionID == "" || strings.ContainsAny(p.SessionID, `/\.`) {
		return "", unknown(p.SessionID)
	}
	_, f, err := a.folder(p.CWD)
	if err != nil {
		return "", err
	}
	store, err := f.Archive()
	if err != nil {
		return "", err
	}
	file, err := store.Find(ctx, p.SessionID)
	if err != nil || !strings.Contains(filepath.Base(file), p.SessionID) {
		return "", unknown(p.SessionID)
	}
	return file, nil
}

func unknown(id string) error {
	return proto.Errorf(proto.CodeNotFound, "session %q not found", id)
}

// open opens a session, from file unless that is "", and adds it to the open ones.
func (a *face) open(p *proto.SessionRequest, file string) (*live, error) {
	dir, f, err := a.folder(p.CWD)
	if err != nil {
		return nil, err
	}
	for _, d := range p.AdditionalDirectories {
		if !filepath.IsAbs(d) {
			return nil, proto.Invalid("additionalDirectories: %q is not an absolute path", d)
		}
	}
	client := a.greeted()
	l := &live{dir: filepath.Clean(p.CWD), conn: a.conn, client: client, folder: f}
	l.ctx, l.stop = context.WithCancel(a.life)
	l.notices = newNotices(l.show(a.o.Log))
	var meta burinMeta
	if raw := client.ClientCapabilities.Meta["burin"]; raw != nil {
		_ = json.Unmarshal(raw, &meta) // an unreadable wish is none
	}
	l.events = meta.Events
	wish := Wish{Dir: dir, AddDirs: p.AdditionalDirectories, Resume: file, Warn: func(line string) { l.notices.add("warning", words.Line(line)) }}
	var problems []string
	wish.Servers, problems = mcpserver.Passed(p.MCPServers)
	for _, line := range problems {
		wish.Warn(line)
	}
	wish.Terminals = client.ClientCapabilities.Terminal
	docs := newDocuments(a.conn, client, l.dir)
	if docs != nil {
		wish.Documents = docs
	}
	h, err := a.o.Open(l.ctx, wish)
	if err != nil {
		l.stop()
		if errors.Is(err, transcript.ErrLocked) {
			return nil, proto.Errorf(proto.CodeInternal, "the session is open in another program that does not share it: close it there first")
		}
		return nil, keyless(err)
	}
	l.handle, l.id = h, h.Facts().ID
	if docs != nil {
		docs.of(l.id)
	}
	l.prompts = newPrompts()
	l.teller = newTeller(h, l.dir, client, l.prompts.own)
	l.asker = &asker{conn: a.conn, session: l.id, client: client, teller: l.teller, notice: l.notices.add, asked: map[string]context.CancelFunc{}}
	l.feed = h.Events(session.Cursor{})
	if wish.Terminals {
		l.screens = &terminals{
			conn: a.conn, session: l.id, dir: l.dir, programs: h.Consoles(), update: l.tell, notice: l.notices.add, open: map[string]bool{},
			command: func(id string) ([]string, error) { return a.o.Join(dir, h, id) },
		}
	}
	a.mu.Lock()
	taken := a.sessions[l.id] != nil || a.life.Err() != nil
	if !taken {
		a.sessions[l.id] = l
	}
	a.mu.Unlock()
	if taken {
		a.close(l)
		return nil, proto.Errorf(proto.CodeInvalidRequest, "session %q is being opened already", l.id)
	}
	return l, nil
}

// show returns how a notice reaches the person: as an update if the client shows notices, else
// on standard error.
func (l *live) show(log func(string)) func(proto.Notice) {
	if s := l.client.ClientCapabilities.Session; s != nil && s.Notices != nil {
		return func(n proto.Notice) { _ = l.tell(n) }
	}
	return func(n proto.Notice) { log(n.Title) }
}

// forkSession copies a session and opens the copy.
func (a *face) forkSession(params json.RawMessage) (proto.Work, error) {
	p, err := read[proto.SessionRequest](params)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		file, err := a.find(ctx, p)
		if err != nil {
			return nil, err
		}
		dir, f, err := a.folder(p.CWD)
		if err != nil {
			return nil, err
		}
		store, err := f.Archive()
		if err != nil {
			return nil, err
		}
		made, err := store.Fork(ctx, file, dir)
		if err != nil {
			return nil, err
		}
		l, err := a.open(p, made.File)
		if err != nil {
			return nil, err
		}
		r := l.described()
		r.SessionID = l.id
		return proto.Then{Result: r, Do: l.start}, nil
	}, nil
}

// closeSession closes a session.
func (a *face) closeSession(params json.RawMessage) (proto.Work, error) {
	p, err := read[proto.SessionRequest](params)
	if err != nil {
		return nil, err
	}
	return func(context.Context) (any, error) {
		l := a.forget(p.SessionID)
		if l == nil {
			_, err := a.session(p.SessionID)
			return nil, err
		}
		if err := l.close(); err != nil && !errors.Is(err, session.ErrClosed) {
			return nil, err
		}
		return proto.Empty{}, nil
	}, nil
}

// deleteSession moves a session to the trash.
func (a *face) deleteSession(params json.RawMessage) (proto.Work, error) {
	p, err := read[proto.SessionRequest](params)
	if err != nil {
		return nil, err
	}
	p.CWD = a.o.Dir // sessions of all folders are in one archive
	return func(ctx context.Context) (any, error) {
		l := a.forget(p.SessionID)
		if l != nil {
			a.close(l)
		}
		file, err := a.find(ctx, p)
		if err != nil {
			if l != nil {
				return proto.Empty{}, nil // an empty session has no file
			}
			return nil, err
		}
		store, err := a.archive()
		if err != nil {
			return nil, err
		}
		if _, err := store.Delete(ctx, file, nil); err != nil {
			return nil, err
		}
		return proto.Empty{}, nil
	}, nil
}

// archive has the operations on sessions of all folders.
func (a *face) archive() (Archive, error) {
	f, err := a.o.Folder(a.o.Dir)
	if err != nil {
		return nil, err
	}
	return f.Archive()
}

// listSessions lists sessions. A cursor is the time and the id of the last session on the page
// before.
func (a *face) listSessions(params json.RawMessage) (proto.Work, error) {
	p := &proto.ListRequest{}
	if len(params) > 0 && string(params) != "null" {
		var err error
		if p, err = read[proto.ListRequest](params); err != nil {
			return nil, err
		}
	}
	dir := p.CWD
	if dir != "" {
		if !filepath.IsAbs(dir) {
			return nil, proto.Invalid("cwd must be an absolute path, not %q", dir)
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
	}
	before, after, err := readCursor(p.Cursor)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		store, err := a.archive()
		if err != nil {
			return nil, err
		}
		list, err := store.List(ctx, dir, 0)
		if err != nil {
			return nil, err
		}
		if p.Cursor != "" {
			i := slices.IndexFunc(list, func(s info) bool { return s.ID == after })
			if i < 0 { // it was deleted or changed meanwhile
				i = slices.IndexFunc(list, func(s info) bool { return s.Modified.UnixMilli() < before }) - 1
			}
			if i < -1 {
				i = len(list) - 1
			}
			list = list[i+1:]
		}
		r := proto.ListResponse{Sessions: []proto.SessionInfo{}}
		for i, s := range list {
			if i == listPage {
				last := list[i-1]
				r.NextCursor = strconv.FormatInt(last.Modified.UnixMilli(), 10) + " " + last.ID
				break
			}
			r.Sessions = append(r.Sessions, proto.SessionInfo{SessionID: s.ID, CWD: s.CWD, Title: s.Title, UpdatedAt: s.Modified.UTC().Format(time.RFC3339)})
		}
		return r, nil
	}, nil
}

func readCursor(cursor string) (before int64, after string, err error) {
	if cursor == "" {
		return 0, "", nil
	}
	at, id, ok := strings.Cut(cursor, " ")
	before, err = strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return 0, "", proto.Invalid("cursor %q is not one that session/list gave", cursor)
	}
	return before, id, nil
}

// sessionStatus says whether a session is open here.
func (a *face) sessionStatus(params json.RawMessage) (proto.Work, error) {
	p, err := read[proto.SessionRequest](params)
	if err != nil {
		return nil, err
	}
	p.CWD = a.o.Dir
	return func(ctx context.Context) (any, error) {
		if _, err := a.session(p.SessionID); err == nil {
			return proto.StatusResponse{Status: "open"}, nil
		}
		if _, err := a.find(ctx, p); err != nil {
			return nil, err
		}
		return proto.StatusResponse{Status: "saved"}, nil
	}, nil
}

// setTitle names a session.
func (a *face) setTitle(params json.RawMessage) (proto.Work, error) {
	p, err := read[proto.SetTitleRequest](params)
	if err != nil {
		return nil, err
	}
	l, err := a.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(p.Title) == "" {
		return nil, proto.Invalid("title is empty")
	}
	return func(ctx context.Context) (any, error) {
		if err := l.handle.Conversation().SetTitle(ctx, p.Title); err != nil {
			return nil, err
		}
		return proto.SetTitleResponse{Title: l.handle.Facts().Stats.Title}, nil
	}, nil
}
