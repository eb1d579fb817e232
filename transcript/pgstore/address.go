package pgstore

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/lib/pq"

	"github.com/burin-dev/burin/internal/prose"
)

// maxConns is how many statements of one database run at once.
const maxConns = 4

// IsAddress reports whether a word is the address of a PostgreSQL server.
func IsAddress(word string) bool {
	return strings.HasPrefix(word, "postgres://") || strings.HasPrefix(word, "postgresql://")
}

// Address is the address of a database, and the session in it that a word names.
type Address struct {
	Database string // the address without a password
	Session  string // behind "#"; "" if none is named
	Password string // that stood in the address
}

// ParseAddress takes an address apart. Whatever is wrong with it, the password is in nothing
// but its field; [Connect] says what is wrong.
func ParseAddress(word string) Address {
	scheme, rest, _ := strings.Cut(word, "://")
	user, host, found := cutUser(rest)
	var a Address
	if found {
		name, password, _ := strings.Cut(user, ":")
		if plain, err := url.PathUnescape(password); err == nil {
			password = plain
		}
		a.Password, user = password, name+"@"
	}
	host, a.Session, _ = strings.Cut(host, "#")
	host, query, has := strings.Cut(host, "?")
	if has {
		query = a.cutPassword(query)
	}
	if a.Database = scheme + "://" + user + host; query != "" {
		a.Database += "?" + query
	}
	return a
}

// cutUser divides what follows the scheme at the "@" behind the user. A password may have any
// character in it, also "#", "/" and "@", and nothing of it must be taken for something else.
func cutUser(rest string) (user, host string, found bool) {
	before, behind := rest, ""
	if at := strings.IndexAny(rest, "#?"); at >= 0 {
		before, behind = rest[:at], rest[at:]
	}
	at := strings.LastIndexByte(before, '@')
	name := before[:max(at, 0)]
	host, _, database := strings.Cut(before[at+1:], "/")
	noPort := at < 0 && !endsWithPort(host)
	if (!database || noPort) && strings.Contains(cmp.Or(name, host), ":") {
		// What looked like the end of the address may be in the password. Then the host follows.
		switch next := hostBehind(behind); {
		case next >= 0:
			at = len(before) + next
		case noPort:
			at = strings.LastIndexByte(rest, '@')
		}
	}
	if at < 0 {
		return "", rest, false
	}
	return rest[:at], rest[at+1:], true
}

// hostBehind finds the first "@" with a host and a database behind it; -1 if there is none.
func hostBehind(text string) int {
	for at := range len(text) {
		if text[at] != '@' {
			continue
		}
		if end := strings.IndexAny(text[at+1:], "@/#?"); end > 0 && text[at+1+end] == '/' {
			return at
		}
	}
	return -1
}

// endsWithPort reports whether a colon in a host is that of its port, or of an IPv6 address.
func endsWithPort(host string) bool {
	_, port, _ := strings.Cut(host, ":")
	return strings.Trim(port, "0123456789") == "" || strings.HasPrefix(host, "[")
}

// secret are the parameters of an address that nobody else should see.
var secret = []string{"password", "sslpassword"}

// cutPassword takes passwords out of the parameters of an address.
func (a *Address) cutPassword(query string) string {
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		hidden := false
		for _, s := range secret {
			if plain, err := url.QueryUnescape(name); err != nil || strings.EqualFold(strings.TrimSpace(plain), s) {
				hidden = true
			}
		}
		if !hidden {
			kept = append(kept, part)
		} else if plain, err := url.QueryUnescape(value); err == nil && a.Password == "" && strings.EqualFold(name, "password") {
			a.Password = plain
		}
	}
	return strings.Join(kept, "&")
}

// Connect gives the database at an address, as ParseAddress has it. It connects when the
// database is first used. A password that is "" comes from where libpq has it: PGPASSWORD,
// ~/.pgpass, a service.
func Connect(database, password string) (*sql.DB, error) {
	u, err := url.Parse(database)
	if err != nil || !IsAddress(database) || u.User != nil && hasPassword(u.User) {
		// The reason would quote the address.
		return nil, errors.New("not the address of a PostgreSQL database: write postgres://USER@HOST:PORT/DATABASE, with %XX for special characters")
	}
	c, err := pq.NewConfig(database)
	if err != nil {
		return nil, fmt.Errorf("settings of the connection: %s", prose.Line(strings.TrimPrefix(err.Error(), "pq: ")))
	}
	if password != "" {
		c.Password = password
	}
	if c.ApplicationName == "" {
		c.ApplicationName = "burin"
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 10 * time.Second
	}
	c.BinaryParameters = true // one round trip a statement, and nothing that a pooler must remember
	connector, err := pq.NewConnectorConfig(c)
	if err != nil {
		return nil, fmt.Errorf("settings of the connection: %w", err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(maxConns)
	db.SetConnMaxIdleTime(time.Minute)
	return db, nil
}

func hasPassword(u *url.Userinfo) bool {
	_, has := u.Password()
	return has
}
