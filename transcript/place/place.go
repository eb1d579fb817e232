// Package place opens sessions wherever they are kept: in a file, encrypted or not,
// or in a database, SQLite or PostgreSQL. It is for those who are given a name and want a log.
//
// A name is the path of a session file, or that of an SQLite database, which ends with .db or
// begins with "sqlite:", or the address of a PostgreSQL database, which begins with
// "postgres://" or "postgresql://". Behind a database may stand "#" and the name of
// a session in it; without one it is the session that was changed last.
//
// # What is promised
//
//   - An encrypted session is only opened with a key from [Keys], which is called once
//     for each opening, and not at all for an unencrypted session.
//   - Nothing is written next to an encrypted session or one in a database: images and
//     large texts stay in its records.
//   - [Seal] and [Unseal] replace a session only after reading back the copy and comparing
//     it record by record. The original is then in the trash.
//   - A password in an address is in no error and no [Name.String].
package place

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/pgstore"
	"github.com/burin-dev/burin/transcript/sealed"
)

// Wanted says which key is asked for.
type Wanted struct {
	Path       string // of the session; "" for a new one
	Passphrase bool   // the session has one; otherwise its key is [sealed.KeySize] bytes
}

// Keys returns the keys of encrypted sessions. nil has none: they are refused with
// [transcript.ErrSealedSession].
type Keys func(Wanted) (sealed.Key, error)

// Name is where a session is.
type Name struct {
	File    string // of the session, or of the database; the address of a server
	Session string // in the database; "" is the one that was changed last
	SQL     bool   // File is a database
	// Password stood in the address of a server. "" is that of [PasswordVariable], or the
	// one that libpq would take.
	Password string
}

// PasswordVariable is the environment variable with the password of PostgreSQL servers where
// their addresses have none.
const PasswordVariable = "BURIN_PGPASSWORD"

// Parse reads a name.
func Parse(name string) Name {
	if pgstore.IsAddress(name) {
		a := pgstore.ParseAddress(name)
		return Name{File: a.Database, Session: a.Session, SQL: true, Password: a.Password}
	}
	rest, sql := strings.CutPrefix(name, "sqlite:")
	file, session := rest, ""
	if at := strings.LastIndex(rest, ".db#"); at >= 0 {
		file, session = rest[:at+3], rest[at+4:]
	} else if at := strings.LastIndexByte(rest, '#'); sql && at >= 0 {
		file, session = rest[:at], rest[at+1:]
	}
	if !sql && !strings.HasSuffix(file, ".db") {
		return Name{File: name}
	}
	return Name{File: file, Session: session, SQL: true}
}

// String is the name that Parse reads, without the password.
func (n Name) String() string {
	s := n.File
	if n.SQL && !n.Server() && !strings.HasSuffix(s, ".db") {
		s = "sqlite:" + s
	}
	if n.Session != "" {
		s += "#" + n.Session
	}
	return s
}

// Secret is the name that Parse reads, with the password. It is for the functions of this
// package, and for nobody to see.
func (n Name) Secret() string {
	s := n.String()
	if n.Password == "" {
		return s
	}
	scheme, rest, _ := strings.Cut(s, "://")
	host := n.File[len(scheme)+len("://"):]
	user, _, found := strings.Cut(host, "@")
	if found {
		rest = rest[len(user)+1:]
	} else {
		user = ""
	}
	return scheme + "://" + user + ":" + strings.ReplaceAll(url.PathEscape(n.Password), "@", "%40") + "@" + rest
}

// Server reports whether the session is in a database of a server.
func (n Name) Server() bool { return n.SQL && pgstore.IsAddress(n.File) }

// Abs is the name with an absolute path. An address is one.
func (n Name) Abs() (Name, error) {
	if n.Server() {
		return n, nil
	}
	file, err := filepath.Abs(n.File)
	n.File = file
	return n, err
}

// Exists reports whether the file is there. Whether a server is, only it can say.
func (n Name) Exists() bool {
	if n.Server() {
		return true
	}
	info, err := os.Stat(n.File)
	return err == nil && !info.IsDir()
}

// Open opens a session to continue with it, as [transcript.OpenSession] does.
func Open(ctx context.Context, name string, keys Keys, o transcript.Options) (*transcript.Log, *transcript.Damage, error) {
	n := Parse(name)
	o.Unseal = keys.unseal(n.String())
	if !n.SQL {
		return transcript.OpenSession(n.File, o)
	}
	store, err := openSQL(ctx, n, false)
	if err != nil {
		return nil, nil, err
	}
	return logOf(store, n, o)
}

// Read opens a session to read it while others may write it. The log takes no entries.
func Read(ctx context.Context, name string, keys Keys, o transcript.Options) (*transcript.Log, *transcript.Damage, error) {
	n := Parse(name)
	o.Unseal = keys.unseal(n.String())
	if !n.SQL {
		return transcript.ReadSession(n.File, o)
	}
	store, err := openSQL(ctx, n, true)
	if err != nil {
		return nil, nil, err
	}
	return logOf(store, n, o)
}

func logOf(store transcript.Store, n Name, o transcript.Options) (*transcript.Log, *transcript.Damage, error) {
	o.Inline = true
	l, d, err := transcript.Open(store, o)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("session %s: %w", n, err), store.Close())
	}
	return l, d, nil
}

// Store opens the records of a session file to write, decrypted if need be.
func Store(path string, keys Keys) (transcript.Store, error) {
	file, err := transcript.OpenFile(path)
	if err != nil {
		return nil, err
	}
	return keys.clear(path, file)
}

// View opens the records of a session file to read, decrypted if need be.
func View(path string, keys Keys) (transcript.Store, error) {
	file, err := transcript.OpenFileReadOnly(path)
	if err != nil {
		return nil, err
	}
	return keys.clear(path, file)
}

// clear is the store itself, or what is encrypted in it. After an error it is closed.
func (k Keys) clear(path string, store transcript.Store) (transcript.Store, error) {
	encrypted, err := transcript.Encrypted(store)
	if err != nil || !encrypted {
		return store, errors.Join(err, closeIf(err != nil, store))
	}
	in, err := k.unseal(path)(store)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return in, nil
}

func closeIf(fails bool, store transcript.Store) error {
	if fails {
		return store.Close()
	}
	return nil
}

// unseal is how the session of that name is decrypted.
func (k Keys) unseal(name string) func(transcript.Store) (transcript.Store, error) {
	return func(s transcript.Store) (transcript.Store, error) {
		if k == nil {
			return nil, transcript.ErrSealedSession
		}
		passphrase, err := sealed.WantsPassphrase(s)
		if err != nil {
			return nil, err
		}
		key, err := k(Wanted{Path: name, Passphrase: passphrase})
		if err != nil {
			return nil, err
		}
		return sealed.New(s, key)
	}
}

// Draft is the store of a session that is not there before Publish.
type Draft interface {
	transcript.Store
	Publish() error
}

// New is the store of a new session at path. If seal is set it is encrypted, and
// what records have in blobs comes into them.
func New(path string, keys Keys, seal bool, blobs *transcript.Blobs) (Draft, error) {
	file := transcript.CreateFile(path)
	store, err := newStore(file, keys, seal)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if !seal {
		return file, nil
	}
	return inline{store, file.Publish, blobs}, nil
}

// inline is a store whose records do not depend on blobs.
type inline struct {
	transcript.Store
	publish func() error
	blobs   *transcript.Blobs
}

func (s inline) Publish() error { return s.publish() }

func (s inline) Append(records ...[]byte) ([]transcript.Ref, error) {
	whole := make([][]byte, len(records))
	for i, r := range records {
		var err error
		if whole[i], err = transcript.InlineRecord(s.blobs, r); err != nil {
			return nil, fmt.Errorf("write session: %w", err)
		}
	}
	return s.Store.Append(whole...)
}

func newStore(store transcript.Store, keys Keys, seal bool) (transcript.Store, error) {
	if !seal {
		return store, nil
	}
	if keys == nil {
		return nil, errors.New("encrypt a session: no key")
	}
	key, err := keys(Wanted{})
	if err != nil {
		return nil, err
	}
	return sealed.New(store, key)
}

// Create begins a session: a file, or in a database, where it fails with an
// [io/fs.ErrExist] if there is one of that name, and says so if that is in the trash.
func Create(ctx context.Context, name string, keys Keys, seal bool, h transcript.Header, o transcript.Options) (*transcript.Log, error) {
	n := Parse(name)
	var store transcript.Store = transcript.CreateFile(n.File)
	if n.SQL {
		db, err := openDB(ctx, n, creating)
		if err != nil {
			return nil, err
		}
		if err := db.vacant(ctx, n.Session); err != nil {
			return nil, errors.Join(err, db.Close())
		}
		store = &begun{db: db, session: n.Session}
	}
	o.Inline = o.Inline || seal || n.SQL
	out, err := newStore(store, keys, seal)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	l, err := transcript.Create(out, h, o)
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return l, nil
}
