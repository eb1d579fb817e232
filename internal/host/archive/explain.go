package archive

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/pgstore"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
	"github.com/burin-dev/burin/transcript/sqlstore"
)

// GoingOn is Explain for where the session is gone on with.
func GoingOn(name string, err error) error {
	if errors.Is(err, transcript.ErrLocked) {
		who, wait := holder(err)
		return fmt.Errorf("session %s is open in another burin%s: close it there%s, or take a copy that burin sessions fork makes", words.ShortPath(name), who, wait)
	}
	return Explain(name, err)
}

// holder says who has a session open, if that is known, and how long to wait should it have
// ended: a server does not know that at once.
func holder(err error) (who, wait string) {
	held, ok := errors.AsType[*pgstore.Locked](err)
	if !ok {
		return "", ""
	}
	return ", " + words.Line(held.Owner), fmt.Sprintf(", or wait %d s if it was killed", int(held.Left.Seconds())+1)
}

// Explain says what to do about an error with a session.
func Explain(name string, err error) error {
	if err == nil {
		return nil
	}
	n := place.Parse(name)
	switch {
	case errors.Is(err, transcript.ErrLocked):
		who, wait := holder(err)
		return fmt.Errorf("session %s is open in another burin%s: close it there first%s", words.ShortPath(name), who, wait)
	case errors.Is(err, transcript.ErrSealedSession):
		return fmt.Errorf("session %s is encrypted, and this is not done with one: burin sessions unseal makes it readable", words.ShortPath(name))
	case errors.Is(err, sealed.ErrKey):
		return fmt.Errorf("session %s: the key or pass phrase is not the one that it was encrypted with", words.ShortPath(name))
	case n.SQL:
		return explainDatabase(n, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("session %s is not there any more: %w", words.ShortPath(name), err)
	}
	return err
}

// explainDatabase is Explain for an error with a database of sessions.
func explainDatabase(n place.Name, err error) error {
	file := words.ShortPath(n.File)
	list := words.ShortPath(place.Name{File: n.File, SQL: true}.String())
	switch {
	case errors.Is(err, sqlstore.ErrDamaged):
		return fmt.Errorf("the database %s is damaged: take it from a backup, or save what can be read with sqlite3 %[1]s .recover", file)
	case errors.Is(err, sqlstore.ErrNoDatabase):
		return fmt.Errorf("%s is not a session database", file)
	case errors.Is(err, fs.ErrNotExist) && n.Session == "":
		return fmt.Errorf("no sessions in %s", file)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("no session %q in %s: burin sessions list %s lists them", n.Session, file, list)
	}
	return err
}

// NameOf is what a person knows a session by: its name, or its first words.
func NameOf(l *transcript.Log) string {
	if title := l.Title(); title != "" {
		return title
	}
	for e, err := range l.All() {
		if err == nil && e.Message != nil && e.Message.Role == llm.RoleUser {
			return transcript.TitleOf(e.Message.Text())
		}
	}
	return ""
}

// UsageError is a mistake in how the program was called.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap gives what is wrong.
func (e UsageError) Unwrap() error { return e.Err }

func usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }
