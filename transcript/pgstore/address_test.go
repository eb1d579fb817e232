package pgstore_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/transcript/pgstore"
)

func TestAddress(t *testing.T) {
	for word, want := range map[string]pgstore.Address{
		"postgres://h/db":                         {Database: "postgres://h/db"},
		"postgresql://ann@h:5433/db#one two":      {Database: "postgresql://ann@h:5433/db", Session: "one two"},
		"postgres://ann@h/db?sslmode=disable#a#b": {Database: "postgres://ann@h/db?sslmode=disable", Session: "a#b"},
		"postgres://h/db#ann@home":                {Database: "postgres://h/db", Session: "ann@home"},
		"postgres://h:5433/db#ann@home":           {Database: "postgres://h:5433/db", Session: "ann@home"},
		"postgres://[::1]:5433/db#a@b":            {Database: "postgres://[::1]:5433/db", Session: "a@b"},
		"postgres:///db?host=/tmp":                {Database: "postgres:///db?host=/tmp"},
		"postgres://":                             {Database: "postgres://"},
		// With a password, however it is written.
		"postgres://ann:quince@h/db#x":                         {Database: "postgres://ann@h/db", Session: "x", Password: "quince"},
		"postgres://ann:quin%20ce@h/db":                        {Database: "postgres://ann@h/db", Password: "quin ce"},
		"postgres://ann:quin#ce@h/db#x":                        {Database: "postgres://ann@h/db", Session: "x", Password: "quin#ce"},
		"postgres://ann:quin@ce@h/db#x":                        {Database: "postgres://ann@h/db", Session: "x", Password: "quin@ce"},
		"postgres://ann:quin/ce@h/db":                          {Database: "postgres://ann@h/db", Password: "quin/ce"},
		"postgres://ann:qu?in#ce@h/db":                         {Database: "postgres://ann@h/db", Password: "qu?in#ce"},
		"postgres://ann:quin#ce@h/db#a@b":                      {Database: "postgres://ann@h/db", Session: "a@b", Password: "quin#ce"},
		"postgres://ann:qui@n#ce@h/db#a@b/c":                   {Database: "postgres://ann@h/db", Session: "a@b/c", Password: "qui@n#ce"},
		"postgres://ann:12#quin@h/db":                          {Database: "postgres://ann@h/db", Password: "12#quin"},
		"postgres://ann:qu/in#ce@h/db":                         {Database: "postgres://ann@h/db", Password: "qu/in#ce"},
		"postgres://ann:quince@h#x":                            {Database: "postgres://ann@h", Session: "x", Password: "quince"},
		"postgres://ann:quin%zz@h/db":                          {Database: "postgres://ann@h/db", Password: "quin%zz"},
		"postgres://ann@h/db?password=quince&sslmode=x#y":      {Database: "postgres://ann@h/db?sslmode=x", Session: "y", Password: "quince"},
		"postgres://ann@h/db?%70assword=quince&sslpassword=qu": {Database: "postgres://ann@h/db"},
	} {
		got := pgstore.ParseAddress(word)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", word, diff)
		}
		if !pgstore.IsAddress(word) {
			t.Errorf("%s is no address", word)
		}
		for _, piece := range []string{"quin", "qu?", "ce@"} {
			if strings.Contains(got.Database+"#"+got.Session, piece) {
				t.Errorf("%s: the password is in %+v", word, got)
			}
		}
	}
	for _, word := range []string{"", "talks.db", "postgres", "postgres:/x", "http://h", "x/postgres://h"} {
		if pgstore.IsAddress(word) {
			t.Errorf("%q is an address", word)
		}
	}
}

func FuzzAddress(f *testing.F) {
	f.Add("ann", "quince", "h/db", "x")
	f.Add("a", "#?/@:%", "h:1/db?sslmode=disable", "a#b@c")
	f.Fuzz(func(t *testing.T, user, password, host, session string) {
		const mark = "QUINCE"
		// Without a database it is not known where a password ends that has both in it.
		if strings.ContainsAny(user, "@:#?/[") || strings.ContainsAny(host, "@#?") || strings.Contains(password, "@") || strings.HasPrefix(host, "/") || !strings.Contains(host, "/") {
			return
		}
		a := pgstore.ParseAddress("postgres://" + user + ":" + mark + password + mark + "@" + host + "#" + session)
		if !strings.Contains(user+host+session, mark) && strings.Contains(a.Database+a.Session, mark) {
			t.Errorf("the password is in %+v", a)
		}
	})
}
