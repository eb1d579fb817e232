package tui

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/sessions"
	"github.com/burin-dev/burin/internal/mode/tui/tree"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/foreign"
	"github.com/burin-dev/burin/transcript/index"
)

// archives are the commands that open, copy, move and delete sessions as a whole.
type archives struct {
	*base
	*current
	exit     *exit
	panes    *panes
	composer *composer
	desktop  *desktop
	work     *work
	brake    *brake
	switcher *switcher
	host     archiveHost
}

// archiveHost is what they need of the program.
type archiveHost interface {
	Archive(warn func(string)) (Archive, error)
	Crumb(path string)
}

// archive is what is done with sessions as a whole. What a person should know of it is
// noticed in the conversation.
func (ar *archives) archive() (Archive, error) {
	return ar.host.Archive(func(text string) {
		ar.inbox.post(func() { ar.notice(card.Warning, prose.Line(text)) })
	})
}

// withArchive is a task that does something with sessions.
func (ar *archives) withArchive(what string, run func(ctx context.Context, sessions Archive) (done func(), err error)) {
	ar.work.task(what, func(ctx context.Context) (func(), error) {
		sessions, err := ar.archive()
		if err != nil {
			return nil, err
		}
		return run(ctx, sessions)
	})
}

// doctor looks whether the sessions of this folder are sound.
func (ar *archives) doctor(string) {
	ar.withArchive("looking at the sessions", func(ctx context.Context, sessions Archive) (func(), error) {
		r, err := sessions.Doctor(ctx, archive.DoctorOptions{})
		return func() { ar.panes.reportText("Doctor", ar.doctorWords(r)) }, err
	})
}

// doctorWords say what an examination found, a line each.
func (ar *archives) doctorWords(r archive.DoctorReport) string {
	var lines []string
	for _, f := range r.Findings {
		line := f.Text
		if f.File != "" {
			line = ar.homePath(f.File) + ": " + line
		}
		lines = append(lines, line)
	}
	if left := r.Left(); left > 0 {
		return strings.Join(append(lines, fmt.Sprintf("problems found: %d; burin sessions doctor --fix repairs what it can", left)), "\n")
	}
	return strings.Join(append(lines, "checked "+prose.Count(r.Sessions-r.Closed, "session")+"; no problems found"), "\n")
}

// importSessions lists the conversations of other programs, or imports those at a path.
func (ar *archives) importSessions(path string) {
	if path == "" {
		ar.work.task("looking for sessions", func(context.Context) (func(), error) {
			sources, err := archive.ImportSources()
			return func() { ar.panes.reportText("Import", ar.sourceWords(sources)) }, err
		})
		return
	}
	path = ar.absolute(path)
	ar.withArchive("looking for sessions", func(ctx context.Context, sessions Archive) (func(), error) {
		r, err := sessions.Import(ctx, archive.ImportOptions{Paths: []string{path}})
		return func() { ar.panes.reportText("Import", importWords(r)) }, err
	})
}

// sourceWords say what other programs keep on this machine.
func (ar *archives) sourceWords(sources []foreign.Source) string {
	if len(sources) == 0 {
		return "no conversations of other programs found"
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, s := range sources {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Format.Title(), prose.Count(s.Files, "file"), ar.homePath(s.Path))
	}
	_ = w.Flush() // into memory
	return text.String() + "to import all: burin sessions import --from-all --yes; to import some: /import PATH"
}

// deleteFile moves a session to the trash, and says how to take it back.
func (ar *archives) deleteFile(ctx context.Context, path string) (string, error) {
	sessions, err := ar.archive()
	if err != nil {
		return "", err
	}
	gone, err := sessions.Delete(ctx, path, nil)
	if gone.Database {
		return "Moved to the trash of the database. To restore it: burin sessions restore " + ar.homePath(gone.Name), err
	}
	return "Moved to the trash. To restore it: burin sessions restore " + gone.Name, err
}

// copyOf makes a session of that in file: of its branch up to an entry, or, into this
// folder, whole where entry is "". It gives the file of the copy.
func (ar *archives) copyOf(ctx context.Context, sessions Archive, file, entry string) (string, error) {
	var made archive.Created
	var err error
	if entry == "" {
		made, err = sessions.Fork(ctx, file, ar.dir)
	} else {
		made, err = sessions.Branch(ctx, file, entry)
	}
	return ar.begun(made, err)
}

// begun is the file of a session that was made, which is the one of this terminal now.
func (ar *archives) begun(made archive.Created, err error) (string, error) {
	if err == nil && made.Dir == ar.dir {
		ar.host.Crumb(made.File)
	}
	return made.File, err
}

// moveFile lets a session that is closed belong to another folder.
func (ar *archives) moveFile(ctx context.Context, path, dir string) (archive.Moved, error) {
	sessions, err := ar.archive()
	if err != nil {
		return archive.Moved{}, err
	}
	return sessions.Move(ctx, path, dir)
}

func (ar *archives) newSession(string) {
	if ar.work.on {
		ar.brake.stop()
	}
	ar.switcher.open(ar.chosen)
}

// fork goes on in a copy.
func (ar *archives) fork(string) { ar.goOnInCopy("", "") }

// goOnInCopy copies the session up to an entry and opens the copy; words go into the
// editor.
func (ar *archives) goOnInCopy(entry, words string) {
	s := ar.session
	path, ok := s.Path()
	if !ok {
		ar.notice(card.Warning, "Nothing to copy yet.")
		return
	}
	ar.withArchive("copying the session", func(ctx context.Context, sessions Archive) (func(), error) {
		copied, err := ar.copyOf(ctx, sessions, path, entry)
		return func() {
			ar.composer.giveBack(words)
			ar.switcher.open(Wish{Resume: copied})
		}, err
	})
}

// handoff goes on in a new session, with what the model writes for it.
func (ar *archives) handoff(focus string) {
	s := ar.session
	ar.work.task("writing the handoff", func(ctx context.Context) (func(), error) {
		document, err := s.Conversation().Handoff(ctx, focus)
		if err != nil {
			return nil, err
		}
		file, _ := s.Path()
		sessions, err := ar.archive()
		if err != nil {
			return nil, err
		}
		path, err := ar.begun(sessions.Begin(context.WithoutCancel(ctx), file, s.Log().Header(), s.Stats().Title, document))
		return func() { ar.switcher.open(Wish{Resume: path}) }, err
	})
}

func (ar *archives) export(file string) {
	switch file {
	case "copy", "--copy", "clipboard": // as other programs call it; a file of that name is "./copy"
		ar.dump("")
		return
	}
	path, ok := ar.kept("export")
	if !ok {
		return
	}
	o := archive.ExportOptions{Session: path}
	if file != "" {
		o.To = ar.absolute(file)
	}
	ar.withArchive("exporting the session", func(ctx context.Context, sessions Archive) (func(), error) {
		written, err := sessions.Export(ctx, o)
		return func() { ar.notice(card.Info, "Written: "+ar.homePath(written.File)) }, err
	})
}

// kept is the file of the session, wherever it is. Where there is none it says so.
func (ar *archives) kept(to string) (path string, ok bool) {
	if path, ok = ar.session.Path(); !ok {
		ar.notice(card.Warning, "Nothing to "+to+": no answer yet, or the session is not saved. /copy copies the conversation.")
	}
	return path, ok
}

func (ar *archives) share(string) {
	path, ok := ar.kept("share")
	if !ok {
		return
	}
	ar.panes.confirm("Share this session?", "Anyone with the address can read it. Secrets are hidden again.", func() {
		ar.withArchive("sharing the session", func(ctx context.Context, sessions Archive) (func(), error) {
			address, err := sessions.Share(ctx, path, nil)
			return func() { ar.notice(card.Info, "Shared: "+address) }, err
		})
	})
}

func (ar *archives) dump(string) {
	path, ok := ar.kept("dump")
	if !ok {
		return
	}
	ar.withArchive("collecting the conversation", func(ctx context.Context, sessions Archive) (func(), error) {
		var text strings.Builder
		_, err := sessions.Export(ctx, archive.ExportOptions{Session: path, Format: "md", Out: &text})
		return func() { ar.desktop.copy(text.String(), "the conversation") }, err
	})
}

func (ar *archives) move(dir string) {
	path, ok := ar.session.Path()
	switch {
	case dir == "":
		ar.notice(card.Info, "Name the folder: /move ../other")
	case !ok:
		ar.notice(card.Warning, "Nothing to move yet: start burin in that folder instead.")
	case !isFolder(ar.absolute(dir)):
		ar.notice(card.Warning, "No folder "+ar.homePath(ar.absolute(dir))+": create it first.")
	case !ar.session.Owns(): // it can't be moved under who has it
		ar.notice(card.Warning, "Another burin has this session: end it there first, or move a copy (/fork).")
	default:
		// Settings, rules and shells belong to the folder: the face begins anew there.
		ar.exit.moveTo, ar.exit.quit = [2]string{path, ar.absolute(dir)}, true
	}
}

func (ar *archives) dropSession(string) {
	path, ok := ar.session.Path()
	if !ok {
		ar.newSession("")
		return
	}
	s := ar.session
	ar.panes.confirm("Delete this session?", "It goes to the trash. burin sessions restore brings it back.", func() {
		if ar.still(s) {
			ar.switcher.leave(func() { ar.deleteSession(path) })
		}
	})
}

// deleteSession moves a session that is closed to the trash.
func (ar *archives) deleteSession(path string) {
	ar.work.task("deleting the session", func(ctx context.Context) (func(), error) {
		said, err := ar.deleteFile(ctx, path)
		return func() {
			if err == nil {
				ar.notice(card.Info, prose.Line(said)) // it names what brings the session back
			}
			ar.sayError(err)
			ar.switcher.beginIfNone() // a prompt may have begun one meanwhile
		}, nil
	})
}

// branch begins a session of its own from an earlier prompt.
func (ar *archives) branch(string) {
	s := ar.session
	var t *tree.Tree
	t = tree.New(ar.env, tree.Options{
		Log: s.Log(), Filter: tree.Users,
		OnSelect: func(id string, _ session.Navigation) {
			t.Close()
			ar.panes.remove(t)
			if !ar.still(s) {
				return
			}
			e, err := s.Log().Entry(id)
			if err != nil {
				ar.sayError(err)
				return
			}
			words, from := "", id
			if e.Type == transcript.TypeMessage && e.Message != nil && e.Message.Role == llm.RoleUser {
				words, from = e.Message.Text(), ""
				if e.ParentID != nil {
					from = *e.ParentID
				}
			}
			if from == "" { // before the first prompt there is nothing to copy
				ar.composer.giveBack(words)
				ar.switcher.open(ar.chosen)
				return
			}
			ar.goOnInCopy(from, words)
		},
		OnCancel: func() { t.Close(); ar.panes.remove(t) },
	})
	ar.panes.push(t)
}

// resume shows the sessions, those that fit the words first.
func (ar *archives) resume(words string) {
	current, here := "", ar.session
	if here != nil {
		current, _ = here.Path()
	}
	kept, err := ar.archive()
	if err != nil {
		ar.sayError(err)
		return
	}
	var p *sessions.Selector
	p = sessions.New(ar.env, sessions.Options{
		Root: kept.Root(), Index: kept.Index(), CWD: ar.dir, Folder: ar.homePath, Current: current, Others: ar.others,
		OnImport: func(other sessions.Other) {
			ar.panes.remove(p)
			ar.importOne(other)
		},
		OnOpen: func(info index.Info) {
			p.Close()
			ar.panes.remove(p)
			if info.CWD != "" && info.CWD != ar.dir {
				ar.otherFolder(info)
				return
			}
			ar.switcher.open(Wish{Resume: info.Path})
		},
		OnDelete: func(info index.Info) error {
			_, err := ar.deleteFile(ar.ctx, info.Path)
			return err
		},
		OnRename: func(info index.Info, title string) error {
			if here != nil && info.ID == here.Log().ID() {
				here.SetTitle(title)
				return nil
			}
			return transcript.Rename(info.Path, title)
		},
		OnCancel: func() { p.Close(); ar.panes.remove(p); ar.switcher.beginIfNone() },
	})
	ar.panes.push(p)
	ar.panes.searchFor(p, words)
}

// What is listed of other programs' conversations: the newest, as far as they are read in
// this time.
const (
	maxOthers  = 100
	othersTime = 1500 * time.Millisecond
)

// others are conversations of other programs.
func (ar *archives) others(ctx context.Context) (others []sessions.Other, all bool) {
	if ar.home == "" {
		return nil, true
	}
	ctx, end := context.WithTimeout(ctx, othersTime)
	defer end()
	found, all := foreign.Recent(ctx, ar.home, ar.dir, maxOthers)
	for _, k := range found {
		others = append(others, sessions.Other{
			Info:    index.Info{Path: k.Path, ID: k.ID, CWD: k.CWD, Title: k.Title, Modified: k.Modified, Size: k.Size},
			Program: k.Format.Title(),
		})
	}
	return others, all
}

// importOne imports a conversation of another program and opens it.
func (ar *archives) importOne(other sessions.Other) {
	ar.withArchive("importing the conversation", func(ctx context.Context, kept Archive) (func(), error) {
		r, err := kept.Import(ctx, archive.ImportOptions{Paths: []string{other.Path}})
		if err != nil {
			return nil, err
		}
		if len(r.Conversations) == 0 {
			return ar.notImported(fmt.Errorf("%s has no messages", ar.homePath(other.Path))), nil
		}
		made := r.Conversations[0]
		if made.State == archive.Failed {
			return ar.notImported(made.Err), nil
		}
		info := other.Info
		info.ID, info.Path = made.ID, made.File
		return func() {
			if info.CWD != "" && info.CWD != ar.dir {
				ar.otherFolder(info)
				return
			}
			ar.switcher.open(Wish{Resume: info.Path})
		}, nil
	})
}

func (ar *archives) notImported(err error) func() {
	return func() {
		ar.sayError(err)
		ar.switcher.beginIfNone()
	}
}

// otherFolder offers a copy of a session that belongs to another folder.
func (ar *archives) otherFolder(info index.Info) {
	ar.panes.confirm("Copy this session into this folder?", "It belongs to "+ar.homePath(info.CWD)+". Its files are not here.", func() {
		ar.withArchive("copying the session", func(ctx context.Context, sessions Archive) (func(), error) {
			copied, err := ar.copyOf(ctx, sessions, info.Path, "")
			return func() { ar.switcher.open(Wish{Resume: copied}) }, err
		})
	})
}

// importWords say what became of each conversation, and how many there were.
func importWords(r archive.ImportReport) string {
	var text strings.Builder
	for _, i := range r.Conversations {
		switch i.State {
		case archive.Unchanged:
			continue
		case archive.Failed:
			if i.Report.Source != "" {
				fmt.Fprintf(&text, "import %s: ", i.Report.Source)
			}
			fmt.Fprintf(&text, "%s\n", prose.Line(i.Err.Error()))
			continue
		}
		fmt.Fprintf(&text, "%s\n%s\n", i.ID, strings.TrimSpace(i.Report.String()))
		switch i.State {
		case archive.Parted:
			fmt.Fprintf(&text, "  changed since it was imported as %s, and that session changed too: both are kept\n", i.Older)
		case archive.Grown:
			fmt.Fprintf(&text, "  updated: %s added\n", prose.Count(i.Added, "entry"))
		}
	}
	grown := ""
	if n := r.Count(archive.Grown); n > 0 {
		grown = fmt.Sprintf("%d updated, ", n)
	}
	fmt.Fprintf(&text, "%d imported, %s%d unchanged, %d unreadable", r.Count(archive.Fresh, archive.Parted), grown, r.Count(archive.Unchanged), r.Count(archive.Failed))
	return text.String()
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
