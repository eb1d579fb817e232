package transcript

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"time"
)

// OpenSession opens a session file, or a draft, to continue it. If something in it is damaged,
// the damaged lines are copied to <path>.damage with a report; the file itself only changes by
// what is appended.
func OpenSession(path string, o Options) (*Log, *Damage, error) {
	store, err := OpenFile(path)
	if err != nil {
		return nil, nil, err
	}
	l, d, err := openAt(store, path, o)
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	if d.Serious() {
		if err := setAside(l.store, path, d); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("set aside what is damaged in session %s: %w", path, err), store.Close())
		}
	}
	return l, d, nil
}

// ReadSession opens a session file for reading, while others may write it. The log takes no
// entries. The caller must close it.
func ReadSession(path string, o Options) (*Log, *Damage, error) {
	store, err := OpenFileReadOnly(path)
	if err != nil {
		return nil, nil, err
	}
	l, d, err := openAt(store, path, o)
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return l, d, nil
}

func openAt(store *FileStore, path string, o Options) (*Log, *Damage, error) {
	o.Header.ID = idOf(path)
	l, d, err := Open(store, o)
	if err != nil {
		return nil, nil, fmt.Errorf("session %s: %w", path, err)
	}
	return l, d, nil
}

// setAside copies the damaged lines of a session to a file next to it. For an encrypted
// session, whose lines would be unencrypted there, it only says where they are.
func setAside(store Store, path string, d *Damage) (err error) {
	_, plain := store.(*FileStore)
	f, err := os.OpenFile(path+".damage", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	defer func() { err = errors.Join(err, b.Flush(), f.Close()) }()
	fmt.Fprintf(b, "# %s, found %s: %s\n", path, time.Now().UTC().Format(time.RFC3339), d)
	for _, bad := range d.Bad {
		if !plain {
			fmt.Fprintf(b, "# line %d\n", bad.Line)
			continue
		}
		if bad.TooLong {
			fmt.Fprintf(b, "# line %d at %d is larger than %d MB: it stays in the session's file and is not copied\n", bad.Line, bad.Ref.Pos, MaxRecord>>20)
			continue
		}
		line, err := store.Read(bad.Ref)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "# line %d, %d bytes at %d", bad.Line, bad.Ref.Len, bad.Ref.Pos)
		if bad.Salvaged > 0 {
			fmt.Fprintf(b, "; %d entries were found whole in it", bad.Salvaged)
		}
		b.WriteString("\n")
		b.Write(line)
		b.WriteString("\n")
	}
	return nil
}
